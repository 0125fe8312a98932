/* Search: results while typing, and the passage in its document beside them. */
import { describe, expect, it } from 'vitest';
import { words as common } from '$words/common';
import { words } from '$words/search';
import { checkLooks } from './harness';
import { browser, isVisible, open, passage, program, results, startForReader, turbine } from './reader';

startForReader();

describe('search', () => {
  it('finds while typing, marks the words, and opens the passage at the first click', async () => {
    const { page, close } = await open('#/search');
    await page.getByLabel(words.label).pressSequentially('quagga pump', { delay: 30 });
    await results(page).first().locator('mark', { hasText: 'quagga' }).waitFor();
    expect(await results(page).first().innerText()).toContain('Part 31');
    await results(page).first().click();
    await page.locator('mark.passage').first().waitFor();
    expect(await page.locator('mark.passage').first().innerText()).toContain(
      'The quagga pump needs 17 litres of oil.',
    );
    await expect.poll(() => isVisible(page, 'mark.passage')).toBe(true);
    // The results are still there, beside it.
    await results(page).first().waitFor();
    await page.reload();
    await expect.poll(() => isVisible(page, 'mark.passage')).toBe(true);
    await close();
  });

  it('works by the keyboard alone, and Esc closes the reader', async () => {
    const { page, close } = await open('#/search?q=quagga');
    await results(page).first().waitFor();
    await page.getByLabel(words.label).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('mark.passage').first().waitFor();
    await page.keyboard.press('Escape');
    await page.locator('mark.passage').waitFor({ state: 'detached' });
    expect(new URL(page.url()).hash).toBe('#/search?q=quagga');
    await page.goBack();
    await page.locator('mark.passage').first().waitFor();
    await close();
  });

  it('keeps its filters in the address, and says if nothing fits them', async () => {
    const { page, close } = await open(`#/search?q=bearing&documentId=${turbine}&mode=lexical`);
    await results(page).first().waitFor();
    expect(new Set(await results(page).locator('.title').allInnerTexts())).toEqual(new Set(['turbine.pdf']));
    expect(await page.getByLabel(words.mode.label).inputValue()).toBe('lexical');
    await page.getByLabel(words.category).fill('Nothing has it');
    await page.getByLabel(words.category).press('Enter');
    await page.getByText(words.nothing.filtered).waitFor();
    expect(page.url()).toContain('category=Nothing+has+it');
    await page.getByRole('link', { name: words.nothing.clear }).click();
    await results(page).first().waitFor();
    await close();
  });

  it('lets a second model order the first results', async () => {
    const { page, close } = await open('#/search?q=How+much+oil+does+the+quagga+pump+need');
    await results(page).first().waitFor();
    await page.getByRole('button', { name: words.filters }).click();
    const asked = page.waitForRequest((request) => request.url().includes('rerank=true'));
    await page.getByLabel(words.order.label).selectOption(words.order.judged);
    expect((await (await asked).response())?.status()).toBe(200);
    expect(await results(page).first().innerText()).toContain('17 litres of oil');
    expect(page.url()).toContain('rerank=true');
    await page.reload();
    await expect.poll(() => page.getByLabel(words.order.label).inputValue()).toBe('true');
    await close();
  });

  it('says that no passage has the words, if it shows the nearest ones', async () => {
    const { page, close } = await open('#/search?q=quagga');
    await results(page).first().waitFor();
    expect(await page.getByText(words.nearest).count()).toBe(0);
    await page.getByLabel(words.label).fill('xyzzy qwrtz');
    await page.getByText(words.nearest).waitFor();
    await results(page).first().waitFor();
    await close();
  });

  it('says how long it has been waiting, if that is long', async () => {
    const { page, close } = await open('#/');
    await page.clock.install();
    await page.route('**/api/search?*', () => {});
    await page.evaluate(() => (location.hash = '#/search?q=quagga'));
    await page.getByRole('status').filter({ hasText: words.searching }).waitFor();
    const waiting = page.getByText(common.elapsed(''));
    await page.clock.runFor(9_000);
    expect(await waiting.count()).toBe(0);
    await page.clock.runFor(3_000);
    await waiting.waitFor();
    await close();
  });

  it('shows errors below the results, with a way on', async () => {
    const { page, close } = await open('#/search?q=quagga', { allow: /503/ });
    await results(page).first().waitFor();
    await page.route('**/api/search?*', (route) =>
      route.fulfill({ status: 503, json: { error: 'no room for it', code: 'X', success: false } }),
    );
    await page.getByLabel(words.label).fill('quagga oil');
    await page.getByRole('alert').getByText('no room for it').waitFor();
    await results(page).first().waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: common.retry }).click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await close();
  });
});

describe('looks', () => {
  it('is accessible and fits, also beside a reader with Arabic text', async () => {
    const { id, documentId } = await passage('المضخة');
    await checkLooks(browser, program.page, '#/search?q=bearing&mode=hybrid', (page) =>
      results(page).first().waitFor(),
    );
    await checkLooks(browser, program.page, `#/search/${documentId}?q=pump&passage=${id}`, (page) =>
      page.locator('mark.passage').first().waitFor(),
    );
  });
});
