/* Entries of Home: what their forms offer, and how their texts are shown. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { words as common } from '$words/common';
import { words } from '$words/home';
import { visit } from './harness';
import { browser, program, server } from './program';

const section = (page: Page, kind: keyof typeof words.kinds) =>
  page.getByRole('region', { name: words.kinds[kind].title });
const title = (page: Page) => page.getByLabel(words.fields.title!, { exact: true });
const save = (page: Page) => page.getByRole('button', { name: common.save, exact: true }).click();

describe('entries', () => {
  it('choose who, when, what for and how far from lists, and a task is ticked off', async () => {
    const ada = await server.makeUser('ada');
    const project = await server.makeProject('Fax room');
    const { page, close } = await visit(browser, program.page, { hash: '#/?new=task' });
    const choose = (field: string, label: string) =>
      page.getByLabel(words.fields[field]!, { exact: true }).selectOption({ label });
    await title(page).fill('Carry the fax');
    await choose('status', words.statuses['in progress']!);
    await choose('assignee', ada.username);
    await choose('projectId', 'Fax room');
    await page.getByLabel(words.fields.dueAt!).fill('2031-05-04');
    await save(page);
    const tasks = section(page, 'task');
    await tasks.getByText('Carry the fax').waitFor();
    const stored = async () => (await (await server.call('/kv/api/portal/tasks?limit=1')).json())[0];
    expect(await stored()).toMatchObject({
      status: 'in progress',
      assignee: 'ada',
      projectId: project.id,
      dueAt: new Date('2031-05-04T00:00:00').getTime(),
    });
    const tick = tasks.getByLabel(words.tick('Carry the fax'));
    await tick.check();
    await expect.poll(async () => (await stored()).status).toBe('done');
    await tick.uncheck();
    await expect.poll(async () => (await stored()).status).toBe('open');
    // A status of a program stays what it is, and can be chosen away.
    const { id } = await stored();
    await server.changeEntry('task', id, { status: 'with Bob' });
    await page.goto(`${program.page}#/?edit=task:${id}`);
    await page.reload();
    const status = page.getByLabel(words.fields.status!, { exact: true });
    await expect.poll(() => status.inputValue()).toBe('with Bob');
    await title(page).fill('Carry it');
    await save(page);
    await expect.poll(async () => (await stored()).title).toBe('Carry it');
    expect((await stored()).status).toBe('with Bob');
    await server.call(`/kv/api/portal/tasks/${id}`, { method: 'DELETE' });
    await close();
  });

  it('are shown as they are read: an update in the list, and while it is written', async () => {
    await server.makeEntry('update', { title: 'Marked', body: 'This is **bold** news.\n\n- one\n- two' });
    const { page, close } = await visit(browser, program.page, { hash: '#/?new=update' });
    await section(page, 'update').locator('strong', { hasText: 'bold' }).waitFor();
    await title(page).fill('Draft');
    await page.getByLabel(words.fields.body!).fill('## Hours\n\nNine to *five*.');
    await page.getByRole('button', { name: words.form.preview }).click();
    const preview = page.getByRole('region', { name: words.form.previewOf });
    await preview.getByRole('heading', { name: 'Hours' }).waitFor();
    expect(await preview.locator('em').innerText()).toBe('five');
    await page.getByRole('button', { name: common.cancel }).click();
    await close();
  });
});
