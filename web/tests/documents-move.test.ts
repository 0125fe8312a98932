/* Several documents at a time: selected, moved to a space and back, copied, indexed again and deleted. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { words as common } from '$words/common';
import { words } from '$words/documents';
import { words as shared } from '$words/spaces';
import { api } from './api';
import { browser, open, program, row, startForDocuments, titles } from './documents';
import { checkLooks } from './harness';

startForDocuments();

const tick = (page: Page, title: string) =>
  page.getByLabel(words.selection.of(title), { exact: true }).click();
const bar = (page: Page) => page.getByRole('toolbar', { name: words.selection.label });
const inSpace = (id: string) => `#/documents?spaceId=${id}`;

async function sendTo(page: Page, kind: 'move' | 'copy', place: string, n: number): Promise<void> {
  await bar(page).getByRole('button', { name: words.actions[kind] }).click();
  const dialog = page.getByRole('dialog', { name: words.transfer[kind].title(n) });
  await dialog.getByLabel(words.transfer.to).selectOption({ label: place });
  await dialog.getByRole('button', { name: words.transfer[kind].action(n) }).click();
  await dialog.getByText(words.transfer[kind].done(n, place).trim()).waitFor();
}

describe('selected documents', () => {
  it('are moved to a space and back', async () => {
    const { id } = await api(program).makeSpace('Board');
    for (const name of ['one.txt', 'two.txt', 'three.txt'])
      await api(program).ingest(name, `This is ${name}`);
    const { page, close } = await open();
    await row(page, 'one.txt').waitFor();
    await tick(page, 'one.txt');
    await tick(page, 'two.txt');
    await bar(page).getByText(words.selection.count('2')).waitFor();
    await sendTo(page, 'move', 'Board', 2);
    await expect.poll(() => titles(page)).toEqual(['three.txt']);
    await page.getByRole('link', { name: words.transfer.show('Board') }).click();
    await row(page, 'two.txt').waitFor();
    expect(await page.evaluate(() => location.hash)).toBe(inSpace(id));
    expect((await titles(page)).toSorted()).toEqual(['one.txt', 'two.txt']);
    // They are there after a reload, and all of them go back.
    await page.reload();
    await page.getByLabel(words.selection.all(2)).click();
    await sendTo(page, 'move', shared.mine, 2);
    await page.getByText(shared.documents.empty.title).waitFor();
    await page.getByRole('button', { name: common.close, exact: true }).last().click();
    await page.goto(`${program.page}#/documents`);
    await expect.poll(async () => (await titles(page)).length).toBe(3);
    await close();
  });

  it('are copied by a reader, who leaves them where they are', async () => {
    const { id } = await api(program).makeSpace('Rules');
    const reader = await api(program).makeUser('reader');
    await api(program).addMember(id, 'reader', 'reader');
    await api(program).ingest('rules.txt', 'Smoking is forbidden.', id);
    const { page, close } = await open({ user: reader, hash: inSpace(id) });
    await row(page, 'rules.txt').waitFor();
    await tick(page, 'rules.txt');
    expect(await bar(page).getByRole('button').allInnerTexts()).toEqual([words.actions.copy, '']);
    await sendTo(page, 'copy', shared.mine, 1);
    await page.getByRole('link', { name: words.transfer.show(shared.mine) }).click();
    await row(page, 'rules.txt').getByText(words.status.indexed).waitFor();
    await page.goto(program.page + inSpace(id));
    await row(page, 'rules.txt').waitFor();
    await close();
  });

  it('are indexed again, and deleted unless that is undone', async () => {
    for (const name of ['a.txt', 'b.txt', 'c.txt']) await api(program).ingest(name, `This is ${name}`);
    const { page, close } = await open({ hash: '#/documents?sort=title' });
    await row(page, 'a.txt').waitFor();
    const again: string[] = [];
    page.on('request', (request) => request.url().endsWith('/reindex') && again.push(request.url()));
    await page.getByLabel(words.selection.all(3)).click();
    await bar(page).getByRole('button', { name: words.actions.reindex }).click();
    await bar(page).waitFor({ state: 'detached' });
    await expect.poll(() => again.length).toBe(3);
    for (const title of ['a.txt', 'c.txt']) {
      await tick(page, title);
      expect(await page.getByLabel(words.selection.of(title)).isChecked()).toBe(true);
    }
    await bar(page).getByRole('button', { name: words.actions.delete }).click();
    await page.getByText(words.deletedSome(2)).waitFor();
    await expect.poll(() => titles(page)).toEqual(['b.txt']);
    await page.getByRole('button', { name: common.undo }).click();
    await expect.poll(() => titles(page)).toEqual(['a.txt', 'b.txt', 'c.txt']);
    for (const title of ['a.txt', 'c.txt']) await tick(page, title);
    await bar(page).getByRole('button', { name: words.actions.delete }).click();
    await expect.poll(() => titles(page)).toEqual(['b.txt']);
    // A page that is closed no longer offers to undo.
    await page.reload();
    await expect
      .poll(async () => (await page.reload(), await row(page, 'b.txt').waitFor(), titles(page)))
      .toEqual(['b.txt']);
    await close();
  });

  it('that cannot be moved are named, with the reason', async () => {
    const { id } = await api(program).makeSpace('Full');
    const quota = { method: 'PATCH', body: JSON.stringify({ quota: 5 }) };
    await api(program).call(`/core/api/spaces/${id}`, quota);
    await api(program).ingest('small.txt', 'Four');
    await api(program).ingest('large.txt', 'More than five bytes.');
    const { page, close } = await open({ allow: /413/ });
    await row(page, 'large.txt').waitFor();
    await page.getByLabel(words.selection.all(2)).click();
    await bar(page).getByRole('button', { name: words.actions.move }).click();
    const dialog = page.getByRole('dialog', { name: words.transfer.move.title(2) });
    await dialog.getByLabel(words.transfer.to).selectOption({ label: 'Full' });
    await dialog.getByRole('button', { name: words.transfer.move.action(2) }).click();
    await dialog.getByRole('alert').getByText('large.txt').waitFor();
    await dialog.getByText(words.transfer.move.done(1, 'Full').trim()).waitFor();
    await expect.poll(() => titles(page)).toEqual(['large.txt']);
    await close();
  });

  it('are one by its own menu, and the open document stays open where it goes', async () => {
    const { id } = await api(program).makeSpace('Board');
    const document = await api(program).ingest('open.txt', 'This document is being read.');
    const { page, close } = await open({ hash: `#/documents/${document}` });
    await page
      .getByRole('button', { name: words.actions.of('open.txt') })
      .first()
      .click();
    await page.getByRole('menuitem', { name: words.actions.move }).click();
    const dialog = page.getByRole('dialog', { name: words.transfer.move.title(1) });
    await dialog.getByLabel(words.transfer.to).selectOption({ label: 'Board' });
    await dialog.getByRole('button', { name: words.transfer.move.action(1) }).click();
    await expect.poll(() => page.evaluate(() => location.hash)).toBe(`#/documents/${document}?spaceId=${id}`);
    await page.getByText('This document is being read.').first().waitFor();
    await close();
  });
});

describe('looks', () => {
  it('is accessible and fits with a selection', async () => {
    await api(program).makeSpace('Board');
    await api(program).ingest(`${'very long name '.repeat(15)}.txt`, 'Long.');
    await checkLooks(browser, program.page, '#/documents', async (page) => {
      const box = page.getByLabel(/^Select very long/);
      await box.waitFor();
      if (!(await box.isChecked())) await box.click();
      await bar(page).waitFor();
      // The row under the pointer has another background.
      await page.mouse.move(0, 0);
    });
  });
});
