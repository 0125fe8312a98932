/* The reader: a passage in its document, as text and on its page. */
import { describe, expect, it } from 'vitest';
import { words as reader } from '$words/reader';
import { api } from './api';
import { checkLooks } from './harness';
import { browser, isVisible, manual, open, passage, program, startForReader, turbine } from './reader';

startForReader();

describe('the reader', () => {
  it('opens a citation at its passage by the address alone', async () => {
    const { id, documentId } = await passage('quagga');
    const { page, close } = await open(`#/documents/${documentId}?passage=${id}`);
    await expect.poll(() => isVisible(page, 'mark.passage')).toBe(true);
    await page.getByRole('button', { name: reader.outline }).click();
    await page.getByRole('button', { name: 'Part 2', exact: true }).click();
    await page.getByRole('heading', { name: 'Part 2', exact: true }).waitFor();
    await expect.poll(() => isVisible(page, '[data-heading="3"]')).toBe(true);
    await close();
  });

  it('highlights the passage on the page of a PDF, where it really stands', async () => {
    const { id } = await passage('okapi bearing');
    const { page, close } = await open(`#/documents/${turbine}?passage=${id}`);
    await page.locator('[data-page="4"] .mark').first().waitFor();
    await expect.poll(() => isVisible(page, '[data-page="4"] .mark')).toBe(true);
    // The line of the okapi is the eleventh: its height on the page is known.
    const covered = await page.locator('[data-page="4"]').evaluate((element) => {
      const box = element.getBoundingClientRect();
      const line = box.top + ((842 - (760 - 10 * 16) - 4) / 842) * box.height;
      const marks = [...element.querySelectorAll('.mark')].map((mark) => mark.getBoundingClientRect());
      return marks.some(({ top, bottom }) => top < line && line < bottom);
    });
    expect(covered).toBe(true);
    expect(await page.locator('[data-page="1"] .mark').count()).toBe(0);
    await page.reload();
    await page.locator('[data-page="4"] .mark').first().waitFor();
    await close();
  });

  it('shows the text of a page and its marks together, at a size that can be read', async () => {
    const { id } = await passage('okapi bearing');
    const { page, close } = await open('#/documents', { viewport: { width: 1440, height: 900 } });
    await page.evaluate(() => {
      const seen: string[] = ((window as unknown as { seen: string[] }).seen = []);
      const shown = (element: Element | null | undefined) =>
        element != null && getComputedStyle(element).visibility === 'visible';
      const look = () => {
        const own = document.querySelector('[data-page="4"]');
        const state = own
          ? `${own.querySelector('.placeholder') ? 'placeholder ' : ''}${shown(own.querySelector('canvas')) ? 'text ' : ''}${shown(own.querySelector('.mark')) ? 'marks' : ''}`
          : '';
        if (state && state !== seen.at(-1)) seen.push(state);
        requestAnimationFrame(look);
      };
      look();
    });
    await page.evaluate((hash) => (location.hash = hash), `#/documents/${turbine}?passage=${id}`);
    await page.locator('[data-page="4"] .mark').first().waitFor();
    const seen = await page.evaluate(() => (window as unknown as { seen: string[] }).seen);
    expect(seen).toEqual(['placeholder ', 'text marks']);
    // A letter has 12 of the page's 595 units.
    const width = await page.locator('[data-page="4"]').evaluate((element) => element.clientWidth);
    expect((width / 595) * 12).toBeGreaterThanOrEqual(11);
    expect(
      await page.getByRole('region', { name: reader.views.pages }).evaluate((view) => view.scrollLeft),
    ).toBeGreaterThan(0);
    await close();
  });

  it('highlights a passage on both pages that it is on', async () => {
    const { passages, pages } = await (await api(program).call(`/core/api/documents/${turbine}/text`)).json();
    const over = passages.find(({ start, end }: { start: number; end: number }) =>
      pages.some((page: { start: number }) => page.start > start + 20 && page.start < end - 20),
    );
    expect(over, 'a passage over two pages').toBeDefined();
    const { page, close } = await open(`#/documents/${turbine}?passage=${over.id}`);
    await page.locator(`[data-page="${over.page}"] .mark`).first().waitFor();
    await page.locator(`[data-page="${over.page + 1}"]`).scrollIntoViewIfNeeded();
    await page
      .locator(`[data-page="${over.page + 1}"] .mark`)
      .first()
      .waitFor();
    await close();
  });

  it('keeps the focus on a phone, where it covers the screen, and gives it back', async () => {
    const { page, close } = await open('#/documents', { viewport: { width: 390, height: 844 } });
    const link = page.getByRole('link', { name: 'Manual', exact: true });
    const sheet = page.getByRole('dialog', { name: 'Manual' });
    const hasFocus = (selector: string) =>
      page.evaluate((selector) => document.activeElement?.closest(selector) !== null, selector);
    for (const leave of [() => page.keyboard.press('Escape'), () => page.goBack()]) {
      await link.focus();
      await page.keyboard.press('Enter');
      await sheet.getByText('Section 1 explains').first().waitFor();
      for (const key of [...Array<string>(12).fill('Tab'), ...Array<string>(12).fill('Shift+Tab')]) {
        await page.keyboard.press(key);
        expect(await hasFocus('aside')).toBe(true);
      }
      await leave();
      await sheet.waitFor({ state: 'detached' });
      await expect.poll(() => link.evaluate((link) => link === document.activeElement)).toBe(true);
    }
    await close();
  });

  it('marks nothing if it is not sure', async () => {
    const { page, close } = await open(`#/documents/${manual}?passage=unknown`);
    await page.getByText(reader.noPassage).waitFor();
    expect(await page.locator('mark.passage').count()).toBe(0);
    const { id } = await passage('okapi bearing');
    // The text that the passage is found by is not that of the page.
    await page.route('**/text', async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      await route.fulfill({ response, json: { ...body, text: body.text.replace(/[a-z]/g, 'x') } });
    });
    await page.evaluate((hash) => (location.hash = hash), `#/documents/${turbine}?passage=${id}`);
    await page.getByText(reader.notOnPage).waitFor();
    expect(await page.locator('.mark').count()).toBe(0);
    await close();
  });

  it('shows a document that is being indexed, and its text as soon as it is there', async () => {
    const { page, close } = await open('#/documents');
    let status = 'processing';
    await page.route(`**/api/documents/${manual}`, async (route) => {
      const response = await route.fetch();
      const change = status === 'processing' ? { status, stage: 'reading', progress: 12, chunkCount: 0 } : {};
      await route.fulfill({ response, json: { ...(await response.json()), ...change } });
    });
    await page.evaluate((hash) => (location.hash = hash), `#/documents/${manual}`);
    await page.getByText(reader.working(reader.stages.reading, 12)).waitFor();
    status = 'indexed';
    await api(program).post(`/core/api/documents/${manual}/reindex`, {});
    await page
      .getByRole('region', { name: reader.views.text })
      .getByText('Section 1 explains')
      .first()
      .waitFor({ timeout: 30_000 });
    await close();
  });

  it('runs and loads nothing that a document says', async () => {
    const { id, documentId } = await passage('basilisk');
    const { page, close } = await open(`#/search/${documentId}?q=basilisk&passage=${id}`);
    await page.locator('mark.passage', { hasText: 'alert(2)' }).waitFor();
    await page.getByRole('tab', { name: reader.views.details }).click();
    expect(await page.locator('#main :is(img, script, iframe), #main a[href^="javascript"]').count()).toBe(0);
    const response = await page.request.get(
      new URL(`../core/api/documents/${documentId}/content`, program.page).href,
    );
    expect(response.headers()['content-disposition']).toMatch(/attachment|inline/);
    expect(response.headers()['content-type']).not.toMatch(/html|svg|xml/);
    await close();
  });
});

describe('looks', () => {
  it.each([
    ['pages', async () => `#/documents/${turbine}?passage=${(await passage('okapi bearing')).id}`, '.mark'],
    ['hostile text', async () => addressOf(await passage('basilisk')), 'mark.passage'],
    ['details', async () => `#/documents/${turbine}?view=details`, 'dl'],
  ])('is accessible and fits with %s', async (_, address, wanted) => {
    await checkLooks(browser, program.page, await address(), (page) =>
      page.locator(wanted).first().waitFor(),
    );
  });
});

const addressOf = ({ documentId, id }: { documentId: string; id: string }) =>
  `#/documents/${documentId}?passage=${id}`;
