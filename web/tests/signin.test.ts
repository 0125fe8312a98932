/* Signing in: by name and password, on plain http, again in place, and as another user. */
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { words as home } from '$words/home';
import { words } from '$words/shell';
import { words as signin } from '$words/signin';
import { accessibilityFaults, ADMIN, session, visit } from './harness';
import { browser, program, server } from './program';
import { openAll, signIn } from './page';

describe('signing in', () => {
  it('opens the address that was asked for', async () => {
    const { page, close } = await visit(browser, program.page, { signIn: false, hash: '#/projects' });
    await signIn(page);
    await page.waitForSelector('main#main');
    expect(new URL(page.url()).hash).toBe('#/projects');
    expect(await page.title()).toContain(words.screens.projects);
    await page.reload();
    await page.waitForSelector('main#main');
    await close();
  });

  it('works on plain http, where browsers have no crypto.subtle', async () => {
    const executablePath =
      process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
    const args = ['--no-sandbox', '--host-resolver-rules=MAP stoa.test 127.0.0.1'];
    const lan = await chromium.launch({ executablePath, args });
    try {
      const address = program.page.replace('127.0.0.1', 'stoa.test');
      const { page, close } = await visit(lan, address, {
        signIn: false,
      });
      expect(await page.evaluate(() => [isSecureContext, typeof crypto.subtle])).toEqual([
        false,
        'undefined',
      ]);
      await signIn(page);
      await page.waitForSelector('main#main');
      await openAll(page, address);
      await close();
    } finally {
      await lan.close();
    }
  });

  it('says that the password is wrong, and keeps the name', async () => {
    const { page, close } = await visit(browser, program.page, { signIn: false, allow: /401/ });
    await signIn(page, { username: 'admin', password: 'wrong' });
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toMatch(/^[A-Z].{10}/);
    expect(await page.getByLabel(signin.username).inputValue()).toBe('admin');
    expect(await page.getByLabel(signin.password, { exact: true }).inputValue()).toBe('');
    await close();
  });

  it('happens in place when the session ends, and what was typed stays', async () => {
    const { page, context, close } = await visit(browser, program.page, {
      hash: '#/?new=update',
      allow: /401/,
    });
    await page.getByLabel(home.fields.title!, { exact: true }).fill('Half a thought');
    await server.makeEntry('update', { title: 'Anything goes', body: '' });
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    // Last: whatever the page asks for next finds the session ended, and the dialog takes what is typed then.
    await context.clearCookies();
    await page.getByRole('combobox').fill('anything');
    const dialog = page.getByRole('dialog', { name: signin.again });
    await dialog.waitFor();
    for (let press = 0; press < 3; press++) await page.keyboard.press('Escape');
    expect(await dialog.isVisible(), 'the dialog has to be answered').toBe(true);
    expect(await dialog.getByLabel(signin.username).inputValue()).toBe(ADMIN.username);
    await dialog.getByLabel(signin.password, { exact: true }).fill(ADMIN.password);
    await dialog.getByRole('button', { name: signin.action, exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    // The search that found the session ended goes on by itself.
    await page.getByRole('option', { name: 'Anything goes' }).waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByLabel(home.fields.title!, { exact: true }).inputValue()).toBe('Half a thought');
    await page.reload();
    await page.getByText(home.form.draft).waitFor();
    expect(await page.getByLabel(home.fields.title!, { exact: true }).inputValue()).toBe('Half a thought');
    await close();
  });

  it('changes the own password, and stays signed in', async () => {
    const user = await server.makeUser('mia');
    const { page, context, close } = await visit(browser, program.page, { signIn: false, allow: /401/ });
    await signIn(page, user);
    await page.getByRole('button', { name: 'mia' }).click();
    await page.getByRole('menuitem', { name: words.password.action }).click();
    const change = async (current: string) => {
      await page.getByLabel(words.password.current).fill(current);
      await page.getByLabel(words.password.wanted).fill('a new password');
      await page.getByRole('button', { name: words.password.action }).click();
    };
    await change('not this one');
    await page.getByText('wrong password').waitFor();
    await change(user.password);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.reload();
    await page.waitForSelector('main#main');
    await session(context, program.page, { ...user, password: 'a new password' });
    await close();
  });

  it('shows nothing of one user to the next', async () => {
    const user = await server.makeUser('eve');
    const { page, close } = await visit(browser, program.page, { signIn: false, hash: '#/?new=update' });
    await signIn(page);
    await page.getByLabel(home.fields.title!, { exact: true }).fill('A secret');
    await page.getByRole('button', { name: ADMIN.username }).click();
    await page.getByRole('menuitem', { name: words.signOut }).click();
    await signIn(page, user);
    await page.waitForSelector('main#main');
    const navigation = page.getByRole('navigation', { name: words.navigation }).first();
    expect(await navigation.getByRole('link', { name: words.screens.admin }).count()).toBe(0);
    await page.goto(`${program.page}#/?new=update`);
    await page.getByRole('heading', { name: home.kinds.update.title }).waitFor();
    expect(await page.content()).not.toContain('A secret');
    await close();
  });

  it('looks right in both themes and widths', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, close } = await visit(browser, program.page, { signIn: false, colorScheme });
      await page.getByRole('heading', { name: signin.title }).waitFor();
      for (const width of [1440, 390, 360]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await accessibilityFaults(page)).toEqual([]);
        expect(
          await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
        ).toBeLessThanOrEqual(0);
      }
      await close();
    }
  });
});
