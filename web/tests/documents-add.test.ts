/* Adding documents: files and folders are sent, followed, cancelled and sent again. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { words } from '$words/documents';
import { words as reader } from '$words/reader';
import { words as sources } from '$words/sources';
import { api } from './api';
import { open, program, row, startForDocuments, titles } from './documents';

startForDocuments();
const files = mkdtempSync(join(tmpdir(), 'stoa-files-'));
afterAll(() => rmSync(files, { recursive: true }));

/** Writes a file whose indexing takes a while, because it has many passages. */
function longText(name: string): string {
  const path = join(files, name);
  const line = (i: number) =>
    `Paragraph ${i} of ${name} tells of pump ${i}, of its valves and of the hall ${i % 7}. `.repeat(8);
  writeFileSync(path, Array.from({ length: 3000 }, (_, i) => line(i)).join('\n\n'));
  return path;
}

async function choose(page: Page, paths: string | string[]): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: words.add }).click();
  await (await chooser).setFiles(paths);
}

/** Drops files and folders as a file manager does. */
async function drop(page: Page, paths: string[]): Promise<void> {
  const browser = await page.context().newCDPSession(page);
  const data = { items: [], files: paths, dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    await browser.send('Input.dispatchDragEvent', { type, x: 700, y: 500, data });
  }
}

describe('adding more than files', () => {
  it('is a button for folders beside that for files, and says what folders of the server take', async () => {
    const { page, close } = await open();
    for (const empty of [true, false]) {
      if (!empty) await api(program).ingest('one.txt', 'One.');
      if (!empty) await row(page, 'one.txt').waitFor();
      const chooser = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: words.addFolder, exact: true }).click();
      expect((await chooser).isMultiple()).toBe(true);
    }
    await page.goto(`${program.page}#/documents/sources?new=choose`);
    const dialog = page.getByRole('dialog', { name: sources.form.choose });
    await dialog.getByText(sources.form.noRootsExample).waitFor();
    expect(await dialog.getByRole('link', { name: sources.kinds.folder }).count()).toBe(0);
    expect(await dialog.getByRole('link', { name: sources.kinds.git }).count()).toBe(1);
    await close();
  });
});

describe('what cannot be added', () => {
  it('is said in plain words before it is sent, once, and to administrators with what to do', async () => {
    const reader = await api(program).makeUser('adder');
    const scans = { files: 'scans', packages: ['tesseract-ocr', 'poppler-utils'] };
    const picture = join(files, 'scan.png');
    writeFileSync(picture, 'no picture');
    writeFileSync(join(files, 'large.txt'), 'x'.repeat(2 ** 20 + 1));
    for (const admin of [true, false]) {
      const unreadable = [admin ? scans : { files: 'scans' }];
      const { page, close } = await open({
        ...(admin ? {} : { user: reader }),
        allow: /413/,
        prepare: (page: Page) =>
          page.route('**/core/api/capabilities', (route) =>
            route.fulfill({ json: { maxUploadBytes: 2 ** 20, unreadable } }),
          ),
      });
      await page.getByText(words.empty.title).waitFor();
      expect(await page.getByText(words.unreadable.scans).count()).toBe(0);
      let sent = 0;
      await page.route('**/api/ingest', (route) => (sent++, route.abort()));
      await choose(page, join(files, 'large.txt'));
      await page.getByText(words.uploads.tooLarge(2 ** 20, admin)).waitFor();
      expect([sent, words.uploads.tooLarge(2 ** 20, false).includes('MAX_')]).toEqual([0, false]);
      await page.unroute('**/api/ingest');
      await choose(page, picture);
      await page.getByText(words.unreadable.scans).waitFor();
      expect(await page.getByText(words.unreadable.command(scans.packages)).count()).toBe(admin ? 1 : 0);
      expect(await page.getByText(words.unreadable.ask).count()).toBe(admin ? 0 : 1);
      await page.getByRole('button', { name: words.unreadable.dismiss }).click();
      await choose(page, picture);
      await page.reload();
      await row(page, 'scan.png').waitFor();
      expect(await page.getByText(words.unreadable.scans).count()).toBe(0);
      await close();
    }
  });
});

describe('adding files', () => {
  it('takes ten files and a nested folder, sends three at a time, and lists all of them', async () => {
    const folder = join(files, 'papers');
    mkdirSync(join(folder, 'old'), { recursive: true });
    const dropped = Array.from({ length: 10 }, (_, i) => join(files, `note ${i}.txt`));
    [...dropped, join(folder, 'one.md'), join(folder, 'old', 'two.md'), join(folder, '.hidden')].forEach(
      (path) => writeFileSync(path, `This is ${path}.`),
    );
    const { page, close } = await open();
    let [atOnce, most, sent] = [0, 0, 0];
    await page.route('**/api/ingest', async (route) => {
      most = Math.max(most, ++atOnce);
      sent++;
      await new Promise((done) => setTimeout(done, 150));
      await route.continue();
      atOnce--;
    });
    await page.getByText(words.empty.title).waitFor();
    await drop(page, [...dropped, folder]);
    await page
      .getByRole('list', { name: words.uploads.label })
      .getByText(words.uploads.waiting)
      .first()
      .waitFor();
    await page.getByRole('tab', { name: `${words.filter.indexed} 12` }).waitFor({ timeout: 30_000 });
    expect([sent, most]).toEqual([12, 3]);
    expect((await titles(page)).toSorted()).toEqual(
      [...dropped.map((path) => path.split('/').at(-1)), 'one.md', 'two.md'].toSorted(),
    );
    await row(page, 'two.md').getByText('papers/old').waitFor();
    await close();
  });

  it('shows the bytes, then the stage and the percentage, live and after a reload, and can cancel and retry', async () => {
    const { page, close } = await open();
    await choose(page, longText('slow.txt'));
    const slow = row(page, 'slow.txt');
    await slow.getByText(new RegExp(`(${Object.values(reader.stages).join('|')}), \\d+ %`)).waitFor();
    await page.reload();
    await slow.getByRole('progressbar').waitFor();
    await slow.getByRole('button', { name: words.actions.cancelOf('slow.txt') }).click();
    await slow.getByText(words.status.cancelled).waitFor();
    await slow.getByRole('button', { name: words.actions.retryOf('slow.txt') }).click();
    await slow.getByRole('progressbar').waitFor();
    await slow.getByRole('button', { name: words.actions.cancelOf('slow.txt') }).click();
    await slow.getByText(words.status.cancelled).waitFor();
    await close();
  });

  it('does not send what is cancelled, says what is there already, and what cannot be read', async () => {
    await api(program).ingest('known.txt', 'Known content.');
    for (const [name, text] of [
      ['known again.txt', 'Known content.'],
      ['empty.txt', ''],
      ['never.txt', 'Never sent.'],
    ] as const) {
      writeFileSync(join(files, name), text);
    }
    const { page, close } = await open();
    await page.route('**/api/ingest', async (route) => {
      await new Promise((done) => setTimeout(done, 800));
      await route.continue().catch(() => null);
    });
    await choose(
      page,
      ['known again.txt', 'empty.txt', 'never.txt'].map((name) => join(files, name)),
    );
    await page.getByRole('button', { name: words.uploads.cancel('never.txt') }).click();
    await page.getByText(words.uploads.duplicate, { exact: true }).waitFor();
    await row(page, 'empty.txt').getByText(words.status.error, { exact: true }).waitFor();
    expect((await titles(page)).toSorted()).toEqual(['empty.txt', 'known.txt']);
    await close();
  });

  it('sends again by itself after the connection was lost', async () => {
    writeFileSync(join(files, 'offline.txt'), 'Sent in the end.');
    const { page, context, close } = await open({ allow: /ERR_INTERNET_DISCONNECTED/ });
    await page.getByText(words.empty.title).waitFor();
    await context.setOffline(true);
    await choose(page, join(files, 'offline.txt'));
    await page.getByText(words.uploads.offline).waitFor();
    await context.setOffline(false);
    await row(page, 'offline.txt').getByText(words.status.indexed).waitFor();
    await close();
  });
});
