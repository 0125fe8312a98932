/* Sources: added, followed while they run, with what could not be read, paused, changed and deleted. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { words as documents } from '$words/documents';
import { words } from '$words/sources';
import { words as spaces } from '$words/spaces';
import { api } from './api';
import { row } from './documents';
import { checkEachLook, type Program, startBrowser, startProgram, visit } from './harness';

let program: Program;
let browser: Browser;
const root = mkdtempSync(join(tmpdir(), 'stoa-root-'));

beforeAll(async () => {
  [program, browser] = await Promise.all([
    startProgram({ FOLDER_ROOTS: root, MAX_UPLOAD_MIB: '1', ALLOW_PRIVATE_ADDRESSES: 'true' }),
    startBrowser(),
  ]);
});
afterAll(async () => {
  await browser.close();
  await program.stop();
  rmSync(root, { recursive: true });
});

/** Makes a folder of the server with a text, and a file that is larger than the program reads. */
function folder(name: string): string {
  const path = join(root, name);
  mkdirSync(path);
  writeFileSync(join(path, 'valve.md'), `# Valve\n\nThe valve of ${name} is in the north hall.`);
  writeFileSync(join(path, 'large.txt'), 'Too large. '.repeat(200_000));
  return path;
}
const open = (options = {}) => visit(browser, program.page, { hash: '#/documents/sources', ...options });
const source = (page: Page, name: string) => page.getByRole('article', { name });
async function act(page: Page, name: string, action: string): Promise<void> {
  await source(page, name)
    .getByRole('button', { name: words.actions.of(name) })
    .click();
  await page.getByRole('menuitem', { name: action, exact: true }).click();
}
async function add(page: Page, name: string, path: string): Promise<void> {
  await page.getByRole('link', { name: words.add }).first().click();
  await page.getByRole('link', { name: words.kinds.folder }).click();
  const form = page.getByRole('dialog', { name: words.form.title(words.kinds.folder) });
  await form.getByLabel(words.form.name, { exact: true }).fill(name);
  await form.getByLabel(words.form.folder.path).fill(path);
  await form.getByRole('button', { name: words.form.create }).click();
}

describe('a source', () => {
  it('appears, runs, says what could not be read, and is deleted with its documents', async () => {
    const path = folder('manuals');
    const { page, close } = await open({ allow: /400/ });
    await page.getByText(words.empty.title).waitFor();
    // What the service says against it stands in the form, and nothing that was typed is lost.
    await add(page, 'Manuals', '/etc');
    const form = page.getByRole('dialog', { name: words.form.title(words.kinds.folder) });
    await form.getByRole('alert').waitFor();
    expect(await form.getByLabel(words.form.name, { exact: true }).inputValue()).toBe('Manuals');
    await form.getByLabel(words.form.folder.path).fill(path);
    await form.getByRole('button', { name: words.form.create }).click();
    await form.waitFor({ state: 'detached' });

    await source(page, 'Manuals').getByText(words.status.waiting).waitFor({ timeout: 30_000 });
    await source(page, 'Manuals').getByText(words.documents(1)).waitFor({ timeout: 30_000 });
    await source(page, 'Manuals')
      .getByRole('link', { name: words.errors(1) })
      .click();
    const items = page.getByRole('dialog', { name: words.items.title('Manuals') });
    await items.getByRole('listitem').filter({ hasText: 'large.txt' }).waitFor();
    expect(await items.getByRole('listitem').count()).toBe(1);
    await items.getByRole('tab', { name: words.items.statuses.stored }).click();
    await items.getByRole('link', { name: 'valve.md' }).click();
    await page.getByText('The valve of manuals').waitFor();
    await row(page, 'Valve').getByText('Manuals').waitFor();

    await page.goto(`${program.page}#/documents/sources`);
    await act(page, 'Manuals', words.actions.delete);
    const dialog = page.getByRole('dialog', { name: words.delete.title('Manuals') });
    await dialog.getByLabel(words.delete.remove(1)).check();
    await dialog.getByRole('button', { name: words.delete.confirmAll }).click();
    await page.getByText(words.empty.title).waitFor();
    await page.getByRole('link', { name: words.toDocuments, exact: true }).first().click();
    await page.getByText(documents.empty.title).waitFor({ timeout: 30_000 });
    await close();
  });

  it('is paused, continued, changed and run, in a space that readers only see', async () => {
    const path = folder('reports');
    const space = await api(program).makeSpace('Reports');
    const reader = await api(program).makeUser('reader');
    await api(program).addMember(space.id, 'reader', 'reader');
    const hash = `#/documents/sources?spaceId=${space.id}`;
    const { page, close } = await open({ hash });
    await add(page, 'Reports', path);
    await source(page, 'Reports').getByText(words.status.waiting).waitFor({ timeout: 30_000 });
    await act(page, 'Reports', words.actions.pause);
    await source(page, 'Reports').getByText(words.status.paused).waitFor();
    await source(page, 'Reports').getByRole('button', { name: words.actions.continue }).click();
    await source(page, 'Reports').getByText(words.status.waiting).waitFor({ timeout: 30_000 });
    await act(page, 'Reports', words.actions.edit);
    const form = page.getByRole('dialog', { name: words.form.edit('Reports') });
    await form.getByLabel(words.form.name, { exact: true }).fill('Yearly reports');
    await form.getByLabel(words.form.every).selectOption({ label: words.form.schedule['']! });
    await form.getByRole('button', { name: words.form.save, exact: true }).click();
    await source(page, 'Yearly reports').getByText(words.nextByHand).waitFor({ timeout: 30_000 });

    writeFileSync(join(path, 'new.md'), '# New\n\nA new report.');
    await source(page, 'Yearly reports')
      .getByRole('button', { name: words.actions.runOf('Yearly reports') })
      .click();
    await source(page, 'Yearly reports').getByText(words.documents(2)).waitFor({ timeout: 30_000 });
    await close();

    const member = await open({ hash, user: reader });
    await source(member.page, 'Yearly reports').waitFor();
    expect(await member.page.getByRole('button', { name: words.actions.run }).count()).toBe(0);
    expect(await member.page.getByRole('link', { name: words.add }).count()).toBe(0);
    await member.close();
  });

  it('makes documents of the pages of a site', async () => {
    const pages: Record<string, string> = {
      '/docs/': '<title>Start</title><main><p>The okapi pump.</p><a href="seal.html">Seal</a></main>',
      '/docs/seal.html': '<title>Seal</title><main><p>The seal of the okapi pump is new.</p></main>',
    };
    const site = createServer((request, response) => {
      const page = pages[request.url ?? ''];
      response.writeHead(page ? 200 : 404, { 'Content-Type': 'text/html' }).end(page);
    });
    await new Promise<void>((done) => site.listen(0, '127.0.0.1', done));
    const { page, close } = await open();
    await page.getByRole('link', { name: words.add }).first().click();
    await page.getByRole('link', { name: words.kinds.web }).click();
    const form = page.getByRole('dialog', { name: words.form.title(words.kinds.web) });
    await form.getByLabel(words.form.name, { exact: true }).fill('Site');
    await form.getByLabel(words.form.web.mode).selectOption('crawl');
    const address = `http://127.0.0.1:${(site.address() as AddressInfo).port}/docs/`;
    await form.getByLabel(words.form.web.addresses.crawl).fill(address);
    await form.getByRole('button', { name: words.form.create }).click();
    await source(page, 'Site').getByText(words.documents(2)).waitFor({ timeout: 30_000 });
    await page.goto(`${program.page}#/search?q=okapi+pump+seal`);
    await page.getByText('The seal of the okapi pump is new').waitFor({ timeout: 30_000 });
    await close();
    site.close();
  });

  it('asks for what its kind needs, and keeps a secret to itself', async () => {
    const { page, close } = await open({ hash: '#/documents/sources?new=choose' });
    await page.getByRole('link', { name: words.kinds.web }).click();
    const web = page.getByRole('dialog', { name: words.form.title(words.kinds.web) });
    expect(await web.getByLabel(words.form.web.depth).count()).toBe(0);
    await web.getByLabel(words.form.web.mode).selectOption('crawl');
    await web.getByLabel(words.form.web.depth).waitFor();
    await web.getByRole('button', { name: words.form.back }).click();
    await page.getByRole('link', { name: words.kinds.s3 }).click();
    const bucket = page.getByRole('dialog', { name: words.form.title(words.kinds.s3) });
    expect(await bucket.getByLabel(words.form.s3.secret).getAttribute('type')).toBe('password');
    await bucket.getByLabel(words.form.name, { exact: true }).fill('Bucket');
    await bucket.getByLabel(words.form.s3.bucket, { exact: true }).fill('manuals');
    await bucket.getByLabel(words.form.s3.endpoint, { exact: true }).fill('https://s3.example.org');
    await bucket.getByLabel(words.form.s3.accessKeyId).fill('a key');
    await bucket.getByLabel(words.form.s3.secret).fill('a secret for tests');
    await bucket.getByRole('button', { name: words.form.create }).click();
    await source(page, 'Bucket').waitFor();
    await act(page, 'Bucket', words.actions.edit);
    const form = page.getByRole('dialog', { name: words.form.edit('Bucket') });
    await form.getByText(words.form.secretKept).waitFor();
    expect(await form.getByLabel(words.form.s3.secret).inputValue()).toBe('');
    expect(await form.getByLabel(words.form.s3.bucket, { exact: true }).inputValue()).toBe('manuals');
    await close();
  });

  it('is not offered from folders of the server to users who are no administrators', async () => {
    const bob = await api(program).makeUser('bob');
    const { page, close } = await open({ user: bob, hash: '#/documents/sources?new=choose' });
    await page.getByRole('link', { name: words.kinds.git }).waitFor();
    expect(await page.getByRole('link', { name: words.kinds.folder }).count()).toBe(0);
    await page.getByText(words.form.onlyAdministrators).waitFor();
    await close();
  });
});

describe('looks', () => {
  it('is accessible and fits, with a long name', async () => {
    const space = await api(program).makeSpace('Looks');
    const settings = { kind: 'folder', path: folder('looks') };
    const name = 'very long name '.repeat(6).trim();
    const body = { name, settings, spaceId: space.id };
    const { source: made } = await api(program).post('/core/api/sources', body);
    const at = `#/documents/sources?spaceId=${space.id}`;
    await checkEachLook(
      browser,
      program.page,
      [
        [at, (page) => source(page, name).waitFor()],
        [`${at}&new=choose`, (page) => page.getByRole('dialog').waitFor()],
        [`${at}&new=git`, (page) => page.getByLabel(words.form.git.secret).waitFor()],
        [`${at}&edit=${made.id}`, (page) => page.getByLabel(words.form.folder.path).waitFor()],
        [
          `${at}&items=${made.id}`,
          (page) => page.getByRole('tab', { name: words.items.statuses.error }).waitFor(),
        ],
        [
          `#/documents?spaceId=${space.id}`,
          (page) => page.getByText(spaces.documents.shared('Looks')).waitFor(),
        ],
      ],
      360,
    );
  });
});
