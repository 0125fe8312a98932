/* The page around its screens: finding things, shortcuts, themes, phones and the first load. */
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { words as chat } from '$words/chat';
import { words as home } from '$words/home';
import { words } from '$words/shell';
import { ADMIN, visit } from './harness';
import { browser, program, server } from './program';
import { pathOf, screens } from './page';

describe('finding things', () => {
  it('reaches every screen, document, project and entry by Ctrl-K', async () => {
    await server.ingest('quagga.txt', 'The quagga was a zebra of South Africa.');
    const project = await server.makeProject('Quagga restoration');
    const entry = await server.makeEntry('update', { title: 'Quagga news', body: 'It is back.' });
    const { page, close } = await visit(browser, program.page);
    const open = async (text: string, title: string) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: words.palette.label }).fill(text);
      await page
        .getByRole('option')
        .filter({ hasText: new RegExp(title) })
        .first()
        .waitFor();
      // By the keyboard alone: down to the wanted one, then Enter.
      for (let step = 0; step < 20; step++) {
        const chosen = page.locator('[role=option][aria-selected=true]');
        if ((await chosen.innerText()).includes(title)) break;
        await page.keyboard.press('ArrowDown');
      }
      await page.keyboard.press('Enter');
      await page.getByRole('combobox', { name: words.palette.label }).waitFor({ state: 'detached' });
      return new URL(page.url()).hash;
    };
    for (const [id, label] of screens) expect(await open(label, label)).toBe(pathOf(id));
    expect(await open('zebra', words.palette.inDocuments('zebra'))).toBe('#/search?q=zebra');
    expect(await open('quagga', 'quagga.txt')).toContain('#/documents/');
    // Projects come in pages: it is on the second.
    await page.route('**/build/api/projects?*', (route) =>
      route.request().url().includes('after=')
        ? route.continue({ url: `${program.gateway}/build/api/projects` })
        : route.fulfill({ json: [], headers: { Link: '<?limit=1000&after=first>; rel="next"' } }),
    );
    expect(await open('quagga rest', 'Quagga restoration')).toBe(`#/projects/${project.id}`);
    await page.unroute('**/build/api/projects?*');
    expect(await open('quagga news', 'Quagga news')).toBe(`#/?show=update%3A${entry.id}`);
    await page.getByRole('complementary', { name: 'Quagga news' }).getByText('It is back.').waitFor();
    await close();
  });

  it('does what the user may do, and closes by Esc and with another screen', async () => {
    const ada = await server.makeUser('commander');
    const { page, close } = await visit(browser, program.page, { user: ada, hash: '#/search' });
    const box = page.getByRole('combobox', { name: words.palette.label });
    const ask = async (text: string) => {
      await page.keyboard.press('Control+k');
      await box.fill(text);
    };
    const option = (name: string) => page.getByRole('option', { name, exact: true });
    await ask(words.palette.commands.project);
    await option(words.palette.commands.project).click();
    await expect.poll(() => new URL(page.url()).hash).toBe('#/projects/new');
    const chooser = page.waitForEvent('filechooser');
    await ask(words.palette.commands.files);
    await page.keyboard.press('Enter');
    await chooser;
    await expect.poll(() => new URL(page.url()).hash).toBe('#/documents');
    // Not what only administrators may do.
    await ask('new');
    await option(words.palette.commands.conversation).waitFor();
    expect(await option(words.palette.commands.user).count()).toBe(0);
    expect(await option(words.palette.commands.space).count()).toBe(0);
    await page.keyboard.press('Escape');
    await box.waitFor({ state: 'detached' });
    await ask('anything');
    await page.evaluate(() => (location.hash = '#/graph'));
    await box.waitFor({ state: 'detached' });
    await close();
    const admin = await visit(browser, program.page, { hash: '#/search' });
    await admin.page.keyboard.press('Control+k');
    await admin.page.getByRole('option', { name: words.palette.commands.user }).waitFor();
    await admin.page.getByRole('option', { name: `${words.screens.admin}: Users` }).click();
    await expect.poll(() => new URL(admin.page.url()).hash).toBe('#/admin/users');
    await admin.close();
  });

  it('leaves a screen before the address of the next is read', async () => {
    const project = await server.makeProject('Elsewhere');
    const { page, close } = await visit(browser, program.page, { hash: '#/chat' });
    await page.getByRole('textbox', { name: chat.composer.label }).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`${program.page}#/projects/${project.id}`);
    await page.getByRole('heading', { name: 'Elsewhere' }).waitFor();
    expect(asked.filter((url) => url.includes(`conversations/${project.id}`))).toEqual([]);
    await close();
  });

  it('lists the shortcuts that work', async () => {
    const { page, close } = await visit(browser, program.page);
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: words.shortcuts });
    const shown = await dialog
      .locator('dt')
      .evaluateAll((all) => all.map((one) => [...one.children].map((key) => key.textContent!)));
    const labels = await dialog.locator('dd').allInnerTexts();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    for (const [id, label] of screens) {
      // Some screens begin in a field, which Esc leaves.
      await page.keyboard.press('Escape');
      for (const key of shown[labels.indexOf(label)]!) await page.keyboard.press(key);
      await page.waitForFunction((title) => document.title.startsWith(title), label);
      expect(new URL(page.url()).hash).toBe(pathOf(id));
      // Only a screen that is there can take the focus into its field.
      await page.locator('main > .loading').waitFor({ state: 'detached' });
    }
    await close();
  });
});

describe('looks', () => {
  it('has a theme that is remembered, or follows the system', async () => {
    const { page, close } = await visit(browser, program.page, { colorScheme: 'light' });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const choose = async (name: string) => {
      await page.getByRole('button', { name: ADMIN.username }).click();
      await page.getByRole('menuitem', { name: `${words.theme.label}: ${name}` }).click();
    };
    const light = await background();
    await choose(words.theme.dark);
    const dark = await background();
    expect(dark).not.toBe(light);
    await page.reload();
    await page.waitForSelector('main#main');
    expect(await background()).toBe(dark);
    await choose(words.theme.auto);
    expect(await background()).toBe(light);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await background()).toBe(dark);
    await close();
  });

  it('has targets of 44 px and no sideways scroll on a phone', async () => {
    const { page, close } = await visit(browser, program.page, { viewport: { width: 360, height: 740 } });
    for (const [id] of screens) {
      await page.goto(program.page + pathOf(id));
      await page.waitForLoadState('networkidle');
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        id,
      ).toBeLessThanOrEqual(0);
    }
    const bar = page.locator('nav[aria-label]:visible a, nav[aria-label]:visible button, header button');
    for (const box of await Promise.all((await bar.all()).map((target) => target.boundingBox()))) {
      if (box) expect(Math.min(box.height, box.width), JSON.stringify(box)).toBeGreaterThanOrEqual(44);
    }
    await page.getByRole('button', { name: words.screens.more }).click();
    await page.getByRole('menuitem', { name: words.screens.graph }).click();
    expect(new URL(page.url()).hash).toBe('#/graph');
    // The bar shows where the open screen is.
    const more = page.getByRole('button', { name: words.openScreen(words.screens.graph) });
    const colour = (of: Locator) => of.evaluate((element) => getComputedStyle(element).color);
    const other = page.getByRole('link', { name: words.screens.documents }).filter({ visible: true });
    expect(await colour(more)).not.toBe(await colour(other));
    await close();
  });
});

describe('the first load', () => {
  it('is under 100 kB of compressed JavaScript', async () => {
    const { page, close } = await visit(browser, program.page);
    await page.getByRole('heading', { name: home.kinds.update.title }).waitFor();
    await page.waitForLoadState('networkidle');
    const total = await page.evaluate(() => {
      const files = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
      const scripts = files.filter(({ name }) => /\.m?js$/.test(new URL(name).pathname));
      return scripts.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
    });
    expect(total).toBeGreaterThan(10_000);
    expect(total).toBeLessThan(100_000);
    await close();
  });

  it('has a strict policy, and neither inline scripts nor inline styles', async () => {
    const response = await fetch(program.page);
    const policy = response.headers.get('Content-Security-Policy') ?? '';
    for (const part of [
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data: blob:",
      "object-src 'none'",
    ]) {
      expect(policy).toContain(part);
    }
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    const html = await response.text();
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i);
    const { page, close } = await visit(browser, program.page, { allow: /Content Security Policy|inline/ });
    const ran = await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      document.body.append(script);
      return 'ran' in window;
    });
    expect(ran).toBe(false);
    await close();
  });
});
