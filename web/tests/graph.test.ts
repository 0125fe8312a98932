/* The graph: drawn and as a list, found, expanded, filtered, and the sources of an answer. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { words as chat } from '$words/chat';
import { words } from '$words/graph';
import { api } from './api';
import { checkLooks, type Program, startBrowser, startProgram, visit } from './harness';
import { longestTask } from './tasks';

const HOSTILE = '<img src=https://evil.example/x onerror=alert(1)>';

let program: Program;
let browser: Browser;
beforeAll(async () => {
  [program, browser] = await Promise.all([startProgram(), startBrowser()]);
  const server = api(program);
  await server.ingest(
    'harbour.md',
    '# Harbour report\n\nAda Solberg works for Northwind Industries in Rotterdam. Ada Solberg met Piet Jansen in Rotterdam.\n\nPiet Jansen repaired the turbine of Northwind Industries in Hamburg.',
  );
  await server.ingest('hostile.md', `# ${HOSTILE}\n\nPiet Jansen wrote ${HOSTILE} to Ada Solberg in Oslo.`);
});
afterAll(async () => {
  await browser.close();
  await program.stop();
});

const open = (hash = '#/graph', options = {}) => visit(browser, program.page, { hash, ...options });
const atRest = (page: Page) =>
  page.locator('[data-arranging="false"]').waitFor({ state: 'attached', timeout: 30_000 });
const rows = (page: Page) => page.getByRole('list', { name: words.list.label }).getByRole('listitem');
const find = async (page: Page, text: string, name: string) => {
  await page.getByRole('combobox', { name: words.find.label }).fill(text);
  await page.getByRole('option', { name }).waitFor();
  await page.keyboard.press('Enter');
};

it('finds a node, shows its passages, and opens one in the reader', async () => {
  const { page, close } = await open();
  page.on('dialog', () => expect.unreachable('a dialog of a document'));
  await atRest(page);
  await find(page, 'solb', 'Ada Solberg');
  const pane = page.getByRole('complementary', { name: 'Ada Solberg' });
  await pane.getByText('Harbour report').first().waitFor();
  // The drawing ends where the pane begins, also if that is widened after the camera came to rest.
  await page.waitForTimeout(1000);
  await pane.getByRole('separator').focus();
  for (let step = 0; step < 5; step++) await page.keyboard.press('ArrowLeft');
  const edges = () =>
    page.evaluate(() => {
      const right = (canvas: Element) => canvas.getBoundingClientRect().right;
      const pane = document.querySelector('aside')!.getBoundingClientRect().left;
      return [...document.querySelectorAll('.canvas canvas')].map((canvas) => right(canvas) - pane);
    });
  await expect.poll(async () => Math.max(...(await edges()))).toBeLessThanOrEqual(0);
  await pane.getByRole('button', { name: /works for Northwind/ }).click();
  await page.locator('aside mark').first().waitFor();
  expect(await page.locator('aside').innerText()).toContain('works for Northwind Industries');
  await page.goBack();
  await pane.waitFor();
  expect(page.url()).toMatch(/node=/);
  await close();
});

it('shows the same as a list, filters it, and keeps all that in the address', async () => {
  const { page, close } = await open();
  await page.getByRole('tab', { name: words.views.list }).click();
  const row = rows(page).filter({ hasText: 'Ada Solberg' });
  await row.getByRole('button').click();
  await page.getByRole('complementary', { name: 'Ada Solberg' }).waitFor();
  const all = await rows(page).count();
  const legend = page.getByRole('list', { name: words.legend });
  await legend.getByRole('button', { name: words.types.person }).click();
  await row.waitFor({ state: 'detached' });
  expect(await rows(page).count()).toBeLessThan(all);
  const address = page.url();
  await close();

  const again = await open(new URL(address).hash);
  await again.page.getByRole('complementary', { name: 'Ada Solberg' }).waitFor();
  await rows(again.page).first().waitFor();
  expect(await rows(again.page).filter({ hasText: 'Ada Solberg' }).count()).toBe(0);
  await again.close();
});

it('expands around a node that a limit has left out', async () => {
  const { page, close } = await open('#/graph?as=list&limit=1');
  await rows(page).first().waitFor();
  const count = page.getByText(new RegExp(words.count(1, 9).replace('9', '\\d+')));
  await count.waitFor();
  await find(page, 'hamb', 'Hamburg');
  await page.getByText(words.expanded(1)).waitFor();
  await rows(page).filter({ hasText: 'Piet Jansen' }).waitFor();
  await page.getByRole('button', { name: words.reset }).click();
  await count.waitFor();
  await close();
});

it("shows an answer's sources as a part of the graph", async () => {
  const { page, close } = await open('#/chat');
  await page.getByLabel(chat.composer.label).fill('Who repaired the turbine?');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: chat.answer.graph }).click();
  await page.getByText(words.sources, { exact: true }).waitFor();
  await atRest(page);
  await page.getByRole('tab', { name: words.views.list }).click();
  await rows(page).filter({ hasText: 'Piet Jansen' }).waitFor();
  await page.getByRole('link', { name: words.whole }).click();
  await page.getByText(words.sources, { exact: true }).waitFor({ state: 'detached' });
  await close();
});

it('arranges 2,000 nodes off the main thread, in an end, and bears bad edges', async () => {
  const { page, close } = await open('#/documents');
  await page.route('**/core/api/graph?*', (route) => route.fulfill({ json: largeGraph(2000) }));
  // WebGL is set up once, with software drawing in tests; the measure is what comes after it.
  await page.goto(`${program.page}#/graph?limit=2000&hide=none`);
  await atRest(page);
  // The best of three: a busy machine makes tasks longer, never shorter. On a quiet one none takes 50 ms.
  let longest = Infinity;
  for (const limit of [1900, 1800, 1700]) {
    if (longest < 50) break;
    const measured = await longestTask(browser, page, async () => {
      await page.goto(`${program.page}#/graph?limit=${limit}`);
      await page.locator('[data-arranging="true"]').waitFor({ state: 'attached' });
      await atRest(page);
      for (let at = 0; at < 20; at++) await page.mouse.move(500 + at * 30, 300 + ((at * 37) % 300));
    });
    longest = Math.min(longest, measured);
  }
  await page.getByText(words.count(2000, 2600)).waitFor();
  expect(longest).toBeLessThan(100);
  await close();
}, 90_000);

it('looks right in both themes and both widths', async () => {
  await checkLooks(browser, program.page, '#/graph', atRest);
  await checkLooks(browser, program.page, '#/graph?as=list', (page) => rows(page).first().waitFor());
}, 120_000);

/** A graph that is different each time it is asked for, with edges to nowhere and to themselves. */
let asked = 0;
function largeGraph(order: number) {
  asked++;
  const types = Object.keys(words.types);
  const nodes = Array.from({ length: order }, (_, i) => ({
    id: `n${asked}-${i}`,
    label: `Node ${i}`,
    type: types[i % types.length],
    documentIds: [],
    documentCount: 1,
    community: i % 20,
    strength: 1 / (1 + i / 50),
  }));
  const edge = (source: string, target: string) => ({ source, target, type: 'relates_to', strength: 0.5 });
  const edges = nodes.flatMap(({ id }, i) => [
    edge(id, nodes[Math.floor(i / 3)]!.id),
    edge(id, nodes[(i * 7 + 20) % order]!.id),
  ]);
  edges.push(edge('gone', nodes[0]!.id), edge(nodes[0]!.id, nodes[0]!.id));
  return { nodes, edges, totals: { nodes: 2600, edges: edges.length } };
}
