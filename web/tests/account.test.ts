/* One's own account, and links: invitations and new passwords. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { words } from '$words/account';
import { words as admin } from '$words/admin';
import { words as signin } from '$words/signin';
import { checkLooks, session, settled, visit } from './harness';
import { browser, program, server } from './program';

const LINUX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0';

/** Opens a link in a browser of its own, without a session. */
const follow = (link: string, allow?: RegExp) =>
  visit(browser, program.page, { signIn: false, hash: new URL(link).hash, allow });

/** Makes a link in the open dialog and returns its address. */
async function make(page: Page, title: string): Promise<string> {
  const dialog = page.getByRole('dialog', { name: title });
  await dialog.getByRole('button', { name: words.links.make }).click();
  const link = await dialog.getByRole('region', { name: words.links.link }).innerText();
  await dialog.getByRole('button', { name: admin.newUser.close, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  return link;
}

describe('the own account', () => {
  it('shows who one is, and takes a new name', async () => {
    const user = await server.makeUser('nora');
    const { page, close } = await visit(browser, program.page, { user });
    await page.getByRole('button', { name: 'nora' }).click();
    await page.getByRole('menuitem', { name: words.title }).click();
    expect(new URL(page.url()).hash).toBe('#/account');
    const form = page.getByRole('form', { name: words.profile.title });
    await form.getByText('nora', { exact: true }).waitFor();
    await form.getByLabel(words.profile.name).fill('Nora Solberg');
    await form.getByRole('button', { name: words.profile.save }).click();
    await form.getByText(words.profile.saved).waitFor();
    await page.getByRole('button', { name: 'Nora Solberg' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Nora Solberg' }).waitFor();
    await close();
  });

  it('ends one session, and all others', async () => {
    const user = await server.makeUser('olga');
    const { page, close } = await visit(browser, program.page, { user, hash: '#/account' });
    const sessions = page.getByRole('list', { name: words.sessions.list }).getByRole('listitem');
    await expect.poll(() => sessions.count()).toBe(1);
    await page.getByText(words.sessions.current).waitFor();
    const other = await browser.newContext({ userAgent: LINUX });
    const third = await browser.newContext({ userAgent: LINUX });
    await session(other, program.page, user);
    await session(third, program.page, user);
    const me = new URL('../core/api/auth/me', program.page).href;
    await page.reload();
    await expect.poll(() => sessions.count()).toBe(3);
    const name = words.sessions.on('Firefox', 'Linux');
    await page
      .getByRole('button', { name: words.sessions.endOf(name) })
      .first()
      .click();
    await expect.poll(() => sessions.count()).toBe(2);
    await page.getByRole('button', { name: words.sessions.endOthers }).click();
    await expect.poll(() => sessions.count()).toBe(1);
    expect((await other.request.get(me)).status()).toBe(401);
    expect((await third.request.get(me)).status()).toBe(401);
    await page.reload();
    await page.waitForSelector('main#main');
    await other.close();
    await third.close();
    await close();
  });
});

describe('a link', () => {
  it('invites a person, who chooses how to sign in', async () => {
    const { page, close } = await visit(browser, program.page, { hash: '#/admin/users' });
    await page.getByRole('link', { name: words.links.invite }).click();
    await page.getByRole('dialog').getByLabel(admin.newUser.name).fill('Petra Holm');
    const link = await make(page, words.links.invite);

    const guest = await follow(link, /400/);
    await guest.page.getByRole('heading', { name: words.link.invitation }).waitFor();
    expect(await guest.page.getByLabel(words.link.name, { exact: true }).inputValue()).toBe('Petra Holm');
    await guest.page.getByLabel(words.link.email).fill('petra@example.org');
    await guest.page.getByLabel(words.link.username).fill('admin');
    await guest.page.getByLabel(words.link.newPassword, { exact: true }).fill('correct horse');
    await guest.page.getByRole('button', { name: words.link.create }).click();
    await guest.page.getByRole('alert').getByText('taken').waitFor();
    await guest.page.getByLabel(words.link.username).fill('petra');
    await guest.page.getByRole('button', { name: words.link.create }).click();
    await guest.page.waitForSelector('main#main');
    await guest.page.getByRole('button', { name: 'Petra Holm' }).waitFor();
    expect(new URL(guest.page.url()).hash).toBe('#/');
    await guest.close();

    const late = await follow(link, /404/);
    await late.page.getByText(words.link.goneText).waitFor();
    await late.page.getByRole('link', { name: words.link.toStart }).click();
    await late.page.getByLabel(signin.username).waitFor();
    await late.close();
    await close();
  });

  it('is listed until it is used, and can be withdrawn', async () => {
    const { page, close } = await visit(browser, program.page, { hash: '#/admin/users?link=new' });
    await page.getByRole('dialog').getByLabel(admin.newUser.name).fill('Quirin');
    const link = await make(page, words.links.invite);
    await page.getByRole('link', { name: words.links.open }).click();
    const name = words.links.withdrawOf(words.links.invitationOf('Quirin'));
    await page.getByRole('button', { name }).click();
    await page.getByText(words.links.none).waitFor();
    const guest = await follow(link, /404/);
    await guest.page.getByText(words.link.goneText).waitFor();
    await guest.close();
    await close();
  });

  it('sets a new password of a user, whose sessions end', async () => {
    const user = await server.makeUser('rosa');
    const { page, close } = await visit(browser, program.page, { hash: '#/admin/users?q=rosa' });
    await page.getByRole('button', { name: admin.users.actions('rosa') }).click();
    await page.getByRole('menuitem', { name: admin.users.passwordLink }).click();
    const link = await make(page, words.links.passwordFor('rosa'));

    const open = await visit(browser, program.page, { user, allow: /401/ });
    await page.getByRole('button', { name: admin.users.actions('rosa') }).click();
    await page.getByRole('menuitem', { name: admin.users.sessions, exact: true }).click();
    await page
      .getByRole('dialog', { name: words.sessions.of('rosa') })
      .getByRole('listitem')
      .waitFor();

    const guest = await follow(link);
    await guest.page.getByText(words.link.passwordText('rosa')).waitFor();
    await guest.page.getByLabel(words.link.newPassword, { exact: true }).fill('a new password');
    await guest.page.getByRole('button', { name: words.link.set }).click();
    await guest.page.waitForSelector('main#main');
    await guest.close();
    await open.page.goto(`${program.page}#/account`);
    await open.page.getByRole('dialog', { name: signin.again }).waitFor();
    const again = open.page.getByRole('dialog', { name: signin.again });
    await again.getByLabel(signin.password, { exact: true }).fill('a new password');
    await again.getByRole('button', { name: signin.action, exact: true }).click();
    await open.page.getByText(words.sessions.current).waitFor();
    expect(await open.page.title()).toContain(words.title);
    await open.close();

    const dialog = page.getByRole('dialog', { name: words.sessions.of('rosa') });
    await dialog.getByRole('button', { name: words.sessions.endAll }).click();
    await dialog.getByText(words.sessions.none).waitFor();
    await close();
  });
});

it('is accessible in both themes and widths', async () => {
  const hashes = ['#/account', '#/admin/users?link=new', '#/admin/users?links=1'];
  await checkLooks(browser, program.page, hashes, settled);
});
