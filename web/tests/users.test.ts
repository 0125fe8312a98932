/* Administration of users: created, changed, deleted, and kept out if they are no administrators. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { words } from '$words/admin';
import { words as common } from '$words/common';
import { words as signin } from '$words/signin';
import { ADMIN, checkLooks, session, settled, visit } from './harness';
import { browser, program, server } from './program';

const list = (page: Page) => page.getByRole('list', { name: words.tabs.users });
const row = (page: Page, name: string) => list(page).getByRole('listitem').filter({ hasText: name });
async function act(page: Page, name: string, action: string): Promise<void> {
  await row(page, name)
    .getByRole('button', { name: words.users.actions(name) })
    .click();
  await page.getByRole('menuitem', { name: action, exact: true }).click();
}
/** Returns whether a user can sign in. */
async function admits(username: string, password: string): Promise<boolean> {
  const context = await browser.newContext();
  try {
    await session(context, program.page, { username, password });
    return true;
  } catch {
    return false;
  } finally {
    await context.close();
  }
}

describe('users', () => {
  it('are created with goals and files, and can sign in', async () => {
    const { page, close } = await visit(browser, program.page, { hash: '#/admin' });
    const dialog = page.getByRole('dialog', { name: words.newUser.title });
    await page.getByRole('link', { name: words.users.add }).click();
    await dialog.getByRole('button', { name: common.cancel }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: words.users.add }).click();
    await dialog.getByLabel(words.newUser.name, { exact: true }).fill('Ada Solberg');
    await dialog.getByLabel(words.newUser.email, { exact: true }).fill('ada@example.org');
    await dialog.getByLabel(words.newUser.goals, { exact: true }).fill('Keep the pumps running.');
    await dialog.getByLabel(words.newUser.files, { exact: true }).setInputFiles([
      { name: 'pump.txt', mimeType: 'text/plain', buffer: Buffer.from('The pump is in the cellar.') },
      { name: 'left out.txt', mimeType: 'text/plain', buffer: Buffer.from('Nobody wants this.') },
    ]);
    await dialog.getByRole('button', { name: words.newUser.remove('left out.txt') }).click();
    // A reload keeps what was typed, except the password.
    await page.reload();
    expect(await dialog.getByLabel(words.newUser.name, { exact: true }).inputValue()).toBe('Ada Solberg');
    const file = {
      name: 'pump.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('The pump is in the cellar.'),
    };
    await dialog.getByLabel(words.newUser.files, { exact: true }).setInputFiles([file]);
    await dialog.getByRole('button', { name: words.newUser.generate }).click();
    const password = await dialog.getByLabel(words.newUser.password, { exact: true }).inputValue();
    expect(password.length).toBeGreaterThan(15);
    await dialog.getByRole('button', { name: words.newUser.create }).click();
    const done = page.getByRole('dialog', { name: words.newUser.done('Ada Solberg') });
    await done.getByText(words.newUser.files_added(1)).waitFor();
    await done.getByRole('button', { name: words.newUser.close, exact: true }).click();
    await row(page, 'Ada Solberg').waitFor();
    expect(await admits('ada@example.org', password)).toBe(true);
    await close();
  });

  it('are disabled, enabled, promoted, and get a new password', async () => {
    const bob = await server.makeUser('bob');
    const { page, close } = await visit(browser, program.page, { hash: '#/admin/users?q=bob' });
    await act(page, 'bob', words.users.disable);
    await row(page, 'bob').getByText(words.users.disabled).filter({ visible: true }).waitFor();
    await expect.poll(() => admits('bob', bob.password)).toBe(false);
    await act(page, 'bob', words.users.enable);
    await expect.poll(() => admits('bob', bob.password)).toBe(true);

    await act(page, 'bob', words.users.makeAdministrator);
    const dialog = page.getByRole('dialog', { name: words.password.title('bob') });
    await dialog.getByText(words.users.needsPassword).waitFor();
    await dialog.getByLabel(words.password.label, { exact: true }).fill('a new password');
    await dialog.getByRole('button', { name: words.password.set }).click();
    await dialog.getByText(words.password.done).waitFor();
    await dialog.getByRole('button', { name: words.newUser.close, exact: true }).click();
    expect(await admits('bob', 'a new password')).toBe(true);
    expect(await admits('bob', bob.password)).toBe(false);
    const { users } = await (await server.call('/core/api/users')).json();
    expect(users.find(({ username }: { username: string }) => username === 'bob').isAdmin).toBe(true);
    await close();
  });

  it('are deleted with undo, and administrators cannot lock themselves out', async () => {
    const quentin = await server.makeUser('quentin');
    const { page, close } = await visit(browser, program.page, { hash: '#/admin/users' });
    await act(page, 'quentin', common.delete);
    await row(page, 'quentin').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: common.undo }).click();
    await row(page, 'quentin').waitFor();
    expect(await admits('quentin', quentin.password)).toBe(true);
    await act(page, 'quentin', common.delete);
    await page.goto('about:blank');
    await expect.poll(() => admits('quentin', quentin.password)).toBe(false);

    await page.goto(`${program.page}#/admin/users?q=${ADMIN.username}`);
    await row(page, words.users.you).getByRole('button').click();
    for (const action of [words.users.disable, words.users.takeAdministrator, common.delete]) {
      expect(await page.getByRole('menuitem', { name: action, exact: true }).isDisabled(), action).toBe(true);
    }
    await close();
  });

  it('scroll by the thousand', async () => {
    const users = Array.from({ length: 5000 }, (_, n) => ({
      id: `u${n}`,
      username: `user${n}`,
      email: `user${n}@example.org`,
      name: `User ${n}`,
      isAdmin: false,
      disabled: false,
      goals: '',
      goalsSummary: '',
      createdAt: 1,
      lastLogin: 0,
      documents: n,
    }));
    const { page, close } = await visit(browser, program.page);
    await page.route('**/core/api/users*', (route) => route.fulfill({ json: { users } }));
    await page.goto(`${program.page}#/admin/users`);
    await row(page, 'User 0').first().waitFor();
    expect(await list(page).getByRole('listitem').count()).toBeLessThan(60);
    await list(page).evaluate((element) => (element.parentElement!.scrollTop = element.scrollHeight));
    await row(page, 'User 4999').waitFor();
    await page.getByLabel(words.users.filter).fill('user4321');
    await row(page, 'User 4321').waitFor();
    expect(new URL(page.url()).hash).toBe('#/admin/users?q=user4321');
    await page.getByLabel(words.users.filter).fill('nobody at all');
    await page.getByRole('button', { name: words.users.clear }).click();
    await row(page, 'User 0').first().waitFor();
    await close();
  });

  it('who are no administrators get a clear word', async () => {
    const mallory = await server.makeUser('mallory');
    const { page, close } = await visit(browser, program.page, { signIn: false, hash: '#/admin/users' });
    await page.getByLabel(signin.username).fill(mallory.username);
    await page.getByLabel(signin.password, { exact: true }).fill(mallory.password);
    await page.keyboard.press('Enter');
    await page.getByText(words.forbidden.title).waitFor();
    await page.getByRole('link', { name: words.forbidden.action }).click();
    expect(new URL(page.url()).hash).toBe('#/');
    await close();
  });
});

it('is accessible in both themes and widths', async () => {
  await checkLooks(browser, program.page, ['#/admin/users', '#/admin/users?new=1'], settled);
});
