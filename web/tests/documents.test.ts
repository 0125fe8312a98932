/* The list of documents: finding, repairing and deleting them, and the stream that keeps it up to date. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { words as common } from '$words/common';
import { words } from '$words/documents';
import { words as reader } from '$words/reader';
import { api } from './api';
import { browser, open, program, row, startForDocuments, titles } from './documents';
import { checkLooks } from './harness';

startForDocuments();

describe('the list', () => {
  it('deletes after some seconds, unless it is undone', async () => {
    await api(program).ingest('kept.txt', 'Kept.');
    await api(program).ingest('gone.txt', 'Gone.');
    const { page, close } = await open();
    for (const title of ['kept.txt', 'gone.txt']) {
      await row(page, title)
        .getByRole('button', { name: words.actions.of(title) })
        .click();
      await page.getByRole('menuitem', { name: words.actions.delete }).click();
      await row(page, title).waitFor({ state: 'detached' });
      if (title === 'kept.txt') await page.getByRole('button', { name: common.undo }).click();
    }
    await row(page, 'kept.txt').waitFor();
    // A page that is closed no longer offers to undo.
    await page.reload();
    await row(page, 'kept.txt').waitFor();
    expect(await titles(page)).toEqual(['kept.txt']);
    await close();
  });

  it('removes all that failed', async () => {
    await api(program).ingest('good.txt', 'Good.');
    for (const name of ['bad1.txt', 'bad2.txt'])
      await api(program)
        .ingest(name, '')
        .catch(() => null);
    const { page, close } = await open({ hash: '#/documents?status=error' });
    await row(page, 'bad2.txt').getByText('the file is empty').waitFor();
    // An empty file stays empty: nothing offers to try it again.
    expect(await page.getByRole('button', { name: words.actions.retryOf('bad2.txt') }).count()).toBe(0);
    await page.getByRole('button', { name: words.purge }).click();
    await page.getByText(words.purged(2)).waitFor();
    await page.getByText(words.nothing.title).waitFor();
    // The tab counts what the list shows, also while it can be undone.
    expect(await page.getByRole('tab', { name: `${words.filter.error} 0` }).count()).toBe(1);
    await page.getByRole('link', { name: words.nothing.action }).click();
    await row(page, 'good.txt').waitFor();
    await page.reload();
    await row(page, 'good.txt').waitFor();
    // What leaving the page has removed may still be on its way.
    await expect
      .poll(async () => (await page.reload(), await row(page, 'good.txt').waitFor(), titles(page)))
      .toEqual(['good.txt']);
    await close();
  });

  it('has its filters and its order in the address', async () => {
    for (const name of ['apple.txt', 'banana.txt', 'cherry pie.txt'])
      await api(program).ingest(name, `About ${name}. `.repeat(name.length));
    const { page, close } = await open({ hash: '#/documents?sort=title' });
    await row(page, 'apple.txt').waitFor();
    expect(await titles(page)).toEqual(['apple.txt', 'banana.txt', 'cherry pie.txt']);
    await page.getByLabel(words.sort.label).selectOption('size');
    await page.waitForFunction(() => location.hash.includes('sort=size'));
    await expect.poll(() => titles(page)).toEqual(['cherry pie.txt', 'banana.txt', 'apple.txt']);
    await page.getByLabel(words.filter.label).fill('PIE');
    await expect.poll(() => titles(page)).toEqual(['cherry pie.txt']);
    await page.reload();
    await row(page, 'cherry pie.txt').waitFor();
    expect(await page.getByLabel(words.filter.label).inputValue()).toBe('PIE');
    expect(await titles(page)).toEqual(['cherry pie.txt']);
    await close();
  });

  it('pages through 10,000 documents with few rows in the page, and Back returns to the same ones', async () => {
    const all = Array.from({ length: 10_000 }, (_, i) => made(10_000 - i));
    const { page, close } = await open({ hash: '#/' });
    await page.route(/api\/documents\?/, (route) => {
      const query = new URL(route.request().url()).searchParams;
      const start = Number(query.get('after') ?? 0);
      const end = start + Number(query.get('limit'));
      const next = end < all.length ? String(end) : null;
      return route.fulfill({
        json: {
          documents: all.slice(start, end),
          next,
          counts: { processing: 0, indexed: all.length, error: 0 },
        },
      });
    });
    await page.evaluate(() => (location.hash = '#/documents'));
    await row(page, 'Made 10000').waitFor();
    const list = page.getByRole('list', { name: words.title });
    const scroll = (to: number) => list.evaluate((list, to) => list.parentElement!.scrollTo(0, to), to);
    await expect
      .poll(async () => (await scroll(1e9), list.evaluate((list) => list.clientHeight)), { timeout: 30_000 })
      .toBe(10_000 * 44);
    await scroll(1e9);
    await row(page, 'Made 1').last().waitFor();
    expect(await list.getByRole('listitem').count()).toBeLessThan(60);
    await scroll(100_000);
    const somewhere = row(page, 'Made 7722').getByRole('link');
    await somewhere.waitFor();
    await page.evaluate(() => (location.hash = '#/search'));
    await list.waitFor({ state: 'detached' });
    await page.goBack();
    await somewhere.waitFor();
    expect(await list.evaluate((list) => list.parentElement!.scrollTop)).toBe(100_000);
    await close();
  });

  it('says if there is no progress for a minute', async () => {
    const { page, close } = await open({ hash: '#/' });
    await page.clock.install();
    const stuck = { ...made(1), status: 'processing', progress: 40, stage: 'embedding' };
    await page.route(/api\/documents\?/, (route) =>
      route.fulfill({
        json: { documents: [stuck], next: null, counts: { processing: 1, indexed: 0, error: 0 } },
      }),
    );
    await page.evaluate(() => (location.hash = '#/documents'));
    await row(page, 'Made 1').getByText(words.progress(reader.stages.embedding, 40)).waitFor();
    await page.clock.runFor(50_000);
    expect(await row(page, 'Made 1').getByText('no progress').count()).toBe(0);
    await page.clock.runFor(12_000);
    await row(page, 'Made 1').getByText(words.idle(61).slice(0, -4)).waitFor();
    await close();
  });
});

describe('the stream of changes', () => {
  it('is one for seven tabs, and the next tab takes over', async () => {
    const { page, context, close } = await open({ hash: '#/' });
    let streams = 0;
    context.on('request', (request) => request.url().includes('/documents/events') && streams++);
    await page.goto(`${program.page}#/documents`);
    await expect.poll(() => streams).toBe(1);
    const tabs: Page[] = [];
    for (let i = 0; i < 6; i++) {
      const tab = await context.newPage();
      await tab.goto(`${program.page}#/documents`);
      await tab.getByText(words.empty.title).waitFor();
      tabs.push(tab);
    }
    expect(streams).toBe(1);
    await api(program).ingest('first.txt', 'First.');
    for (const tab of [page, ...tabs]) await row(tab, 'first.txt').waitFor();
    // The tab with the stream closes.
    await page.close();
    await expect.poll(() => streams).toBe(2);
    await api(program).ingest('second.txt', 'Second.');
    for (const tab of tabs) await row(tab, 'second.txt').waitFor();
    expect(streams).toBe(2);
    await close();
  });
});

describe('the stream after a time without network', () => {
  it('is taken up at once when the page is looked at again', async () => {
    const { page, close } = await open({ hash: '#/', allow: /ERR_FAILED|Failed to load/ });
    let tries = 0;
    await page.route('**/documents/events*', (route) => {
      tries++;
      return route.abort();
    });
    await page.clock.install();
    await page.evaluate(() => (location.hash = '#/documents'));
    // The next try is some seconds away by now.
    await expect.poll(async () => (await page.clock.runFor(500), tries), { timeout: 20_000 }).toBe(4);
    await page.unrouteAll();
    const again = page.waitForRequest('**/documents/events*', { timeout: 2_500 });
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await again;
    await api(program).ingest('seen.txt', 'Seen.');
    await row(page, 'seen.txt').waitFor();
    await close();
  });
});

describe('the stream on plain http', () => {
  it('is one for each tab, because browsers have no locks there', async () => {
    const { page, context, close } = await open({ hash: '#/' });
    await context.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }));
    const other = await context.newPage();
    for (const tab of [page, other]) {
      const stream = tab.waitForRequest('**/documents/events');
      await tab.goto(`${program.page}#/documents`);
      await tab.reload();
      await stream;
    }
    await api(program).ingest('plain.txt', 'Plain.');
    for (const tab of [page, other]) await row(tab, 'plain.txt').waitFor();
    await close();
  });
});

describe('looks', () => {
  it('is accessible and fits, empty and with hostile and long names', async () => {
    const script = '<img src=x onerror=alert(1)>';
    await checkLooks(browser, program.page, '#/documents', (page) =>
      page.getByText(words.empty.title).waitFor(),
    );
    await api(program).ingest(`${script}.txt`, script);
    await api(program).ingest(`${'very long name '.repeat(15)}.txt`, 'Long.');
    await api(program).ingest('مستند عن المضخات.txt', 'هذا مستند.');
    await api(program)
      .ingest('empty.txt', '')
      .catch(() => null);
    await checkLooks(browser, program.page, '#/documents', (page) => row(page, script).waitFor());
  });
});

function made(i: number) {
  return {
    id: `00000000-0000-0000-0000-${String(i).padStart(12, '0')}`,
    userId: 'u',
    title: `Made ${i}`,
    filename: `made${i}.txt`,
    mediaType: 'text/plain',
    size: 100 + i,
    objectKey: '',
    uploadedAt: 1_700_000_000_000 + i,
    status: 'indexed',
    progress: 100,
    stage: null,
    chunkCount: 3,
    graphNodes: 2,
    metadata: {},
  };
}
