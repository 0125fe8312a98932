/* What keeps documents in order: versions of their files, expiry dates, and quotas. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { words as admin } from '$words/admin';
import { words } from '$words/documents';
import { words as spaces } from '$words/spaces';
import { api } from './api';
import { browser, open, program, row, startForDocuments } from './documents';
import { addFiles, textFile } from './files';
import { checkEachLook, visit } from './harness';

startForDocuments();

async function act(page: Page, title: string, action: string): Promise<void> {
  await row(page, title)
    .getByRole('button', { name: words.actions.of(title) })
    .click();
  await page.getByRole('menuitem', { name: action, exact: true }).click();
}
const contentOf = async (id: string) => (await api(program).call(`/core/api/documents/${id}/content`)).text();

describe('versions', () => {
  it('a file of the same name replaces the one before, which can be downloaded and restored', async () => {
    const { page, close } = await open();
    await addFiles(page, textFile('plan.txt', 'The first plan.'));
    await row(page, 'plan.txt').getByText(words.status.indexed).waitFor();
    await addFiles(page, textFile('plan.txt', 'The second plan.'));
    await page.getByText(words.uploads.replaces(1)).waitFor();
    await page.getByRole('link', { name: words.uploads.open }).click();
    await page.getByText('The second plan.').waitFor({ timeout: 30_000 });
    const id = new URL(page.url()).hash.split(/[/?]/)[2]!;
    await page.goto(`${program.page}#/documents`);
    expect(await row(page, 'plan.txt').count()).toBe(1);

    await act(page, 'plan.txt', words.actions.versions);
    const dialog = page.getByRole('dialog', { name: words.versions.title('plan.txt') });
    const versions = dialog.getByRole('list', { name: words.versions.list }).getByRole('listitem');
    await versions.nth(1).waitFor();
    expect(await versions.nth(0).innerText()).toMatch(/Version 2\s*Current/);
    expect(await versions.nth(1).innerText()).toMatch(/Version 1\s*Former/);
    const download = page.waitForEvent('download');
    await versions
      .nth(1)
      .getByRole('link', { name: words.versions.download(1) })
      .click();
    expect((await download).suggestedFilename()).toBe('plan.txt');

    // Nothing happens before it is confirmed.
    await versions
      .nth(1)
      .getByRole('button', { name: words.versions.restoreOf(1) })
      .click();
    await versions.nth(1).getByText(words.versions.confirm(1)).waitFor();
    expect(await contentOf(id)).toBe('The second plan.');
    await versions.nth(1).getByRole('button', { name: words.versions.restore, exact: true }).click();
    await dialog.getByText(words.versions.restored(1)).waitFor();
    await versions.filter({ hasText: /Version 3\s*Current/ }).waitFor({ timeout: 30_000 });
    expect(await contentOf(id)).toBe('The first plan.');
    // The dialog is a step of the history.
    await page.goBack();
    await dialog.waitFor({ state: 'detached' });
    await close();
  });
});

describe('an expiry date', () => {
  it('is set, shown in the row, and removed', async () => {
    await api(program).ingest('draft.txt', 'A draft.');
    const { page, close } = await open();
    await act(page, 'draft.txt', words.actions.expiry);
    const dialog = page.getByRole('dialog', { name: words.expiry.title('draft.txt') });
    await dialog.getByLabel(words.expiry.date).fill('2020-01-01');
    await dialog.getByRole('button', { name: words.expiry.set }).click();
    await dialog.getByText(words.expiry.past).waitFor();
    const year = new Date().getFullYear() + 1;
    await dialog.getByLabel(words.expiry.date).fill(`${year}-06-15`);
    await dialog.getByRole('button', { name: words.expiry.set }).click();
    await dialog.waitFor({ state: 'detached' });
    await row(page, 'draft.txt').getByText(`Jun 15, ${year}`).waitFor();
    await page.reload();
    await row(page, 'draft.txt').getByText(`Jun 15, ${year}`).waitFor();
    await act(page, 'draft.txt', words.actions.expiry);
    await dialog.getByRole('button', { name: words.expiry.remove }).click();
    await row(page, 'draft.txt').getByText(`Jun 15, ${year}`).waitFor({ state: 'detached' });
    await close();
  });
});

describe('a quota', () => {
  it('is set by an administrator, shown with what is used, and said when it is reached', async () => {
    const ada = await api(program).makeUser('ada');
    const setting = await visit(browser, program.page, { hash: '#/admin/users?q=ada' });
    const users = setting.page.getByRole('list', { name: admin.tabs.users });
    await users.getByRole('button', { name: admin.users.actions('ada') }).click();
    await setting.page.getByRole('menuitem', { name: admin.users.quota, exact: true }).click();
    const dialog = setting.page.getByRole('dialog', { name: admin.quota.title('ada') });
    await dialog.getByLabel(spaces.quota.label, { exact: true }).fill('much');
    await dialog.getByText(spaces.quota.wrong).waitFor();
    await dialog.getByLabel(spaces.quota.label, { exact: true }).fill('0.001');
    await dialog.getByLabel(spaces.quota.unit).selectOption('MB');
    await dialog.getByRole('button', { name: spaces.quota.save }).click();
    await users.getByText(spaces.storage.of('0 B', '1.0 kB')).waitFor();
    await setting.close();

    const { page, close } = await open({ user: ada, allow: /413/ });
    await addFiles(page, textFile('small.txt', 'Small.'));
    await page.getByText(spaces.storage.of('6 B', '1.0 kB')).waitFor();
    await page.getByRole('progressbar', { name: spaces.storage.label }).waitFor();
    await addFiles(page, textFile('large.txt', 'Large. '.repeat(200)));
    await page.getByText(words.uploads.full).waitFor();
    await close();
  });
});

describe('looks', () => {
  it('the dialogs are accessible and fit', async () => {
    const id = await api(program).ingest('plan.txt', 'One.');
    await api(program).ingest('plan.txt', 'Two.');
    await checkEachLook(
      browser,
      program.page,
      [
        [`#/documents?versions=${id}`, (page) => page.getByText(words.versions.version(1)).waitFor()],
        [`#/documents?expiry=${id}`, (page) => page.getByLabel(words.expiry.date).waitFor()],
      ],
      360,
    );
  });
});
