/* Artifacts that people edit, and worksheets that they fill in. */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { words as common } from '$words/common';
import { words } from '$words/projects';
import { api } from './api';
import { checkAllLooks, makeProject, open, program, projectPath, vendor } from './project-setup';

const SHEET = `> A worksheet: \`tiny\` is too small a model to write this document. Give the agent a larger one.

## What is known

- A diary of each hive.

## Problem

*To be answered:* What goes wrong today?

## Users

*To be answered:* Who keeps bees?
`;

/** Makes a project whose first phase has run until its second artifact waits. */
async function written(): Promise<string> {
  const id = await makeProject();
  const { call } = api(program);
  const body = JSON.stringify({ projectId: id, phase: 'prd' });
  await call('/build/api/execute', { method: 'POST', headers: { Prefer: 'respond-async' }, body });
  const status = async () => (await (await call(`/build/api/state/${id}`)).json()).status;
  await expect.poll(status).toBe('interrupted');
  return id;
}
const newest = async (id: string, agent: string) => {
  const artifacts = await (await api(program).call(`/build/api/artifacts/${id}`)).json();
  return artifacts.find((one: { agent: string }) => one.agent === agent);
};
const save = (page: Page) => page.getByRole('button', { name: words.edit.save, exact: true });

it('saves an edit as a new version with its author, and the draft survives a reload', async () => {
  vendor.texts = { analyst: '# Diary\n\nOld line.' };
  const id = await written();
  const { page, close } = await open(projectPath(id, '/artifacts/analyst'), { allow: /409/ });
  await page.getByRole('button', { name: words.edit.start, exact: true }).click();
  const text = page.getByLabel(words.edit.label);
  await text.fill('# Diary\n\nMy line.');
  await page.getByText(common.diff.sum(1, 1)).waitFor();
  await page.reload();
  expect(await text.inputValue()).toBe('# Diary\n\nMy line.');

  // Another person is faster: neither text is lost, and the page says against what the changes are shown.
  const { id: artifactId } = await newest(id, 'analyst');
  await api(program).post(`/build/api/artifacts/${id}`, { artifactId, content: '# Diary\n\nTheir line.' });
  await save(page).click();
  await page.getByText(words.edit.newer(2, 'admin')).waitFor();
  expect(await text.inputValue()).toBe('# Diary\n\nMy line.');
  await save(page).click();
  await page.getByText(words.edit.saved(3)).waitFor();
  await page.getByText('My line.').waitFor();
  expect(await newest(id, 'analyst')).toMatchObject({ version: 3, edited_by: 'admin' });
  await page.getByRole('button', { name: words.edit.showChanges }).click();
  const diff = page.getByRole('group', { name: words.artifacts.compare });
  expect(await diff.locator('mark').allInnerTexts()).toEqual(['Their', 'My']);

  // Where the agents are shown, it is the text too.
  await page.goto(program.page + projectPath(id, '?agent=analyst'));
  await page.getByText('My line.').waitFor();
  await close();
});

it('shows a worksheet as a form, which becomes the document when it is filled in', async () => {
  vendor.texts = { analyst: SHEET, manager: SHEET };
  const id = await written();
  const { page, close } = await open(projectPath(id, '/artifacts/analyst'));
  await page.getByText('A diary of each hive.').first().waitFor();
  await page.getByLabel('Users', { exact: true }).fill('Beekeepers.');
  await page.getByText(words.edit.answered(1, 2)).waitFor();
  await page.waitForTimeout(400);
  await page.reload();
  const users = page.getByLabel('Users', { exact: true });
  expect(await users.inputValue()).toBe('Beekeepers.');
  await save(page).click();
  await page.getByText(words.edit.saved(2)).waitFor();
  expect((await newest(id, 'analyst')).content).toContain('*Asked:* Who keeps bees?\n\nBeekeepers.');

  // It is still a worksheet, and goes on where it was left.
  await page.reload();
  expect(await users.inputValue()).toBe('Beekeepers.');
  await page.getByLabel('Problem', { exact: true }).fill('Notes get lost.');
  await page.getByText(words.edit.answered(2, 2)).waitFor();
  await save(page).click();
  await page.getByText(words.edit.saved(3)).waitFor();
  await page.getByRole('button', { name: words.edit.start, exact: true }).waitFor();
  const { content } = await newest(id, 'analyst');
  expect(content.startsWith('## What is known')).toBe(true);
  expect(content).toContain('*Asked:* What goes wrong today?\n\nNotes get lost.\n');
  await page.goto(program.page + projectPath(id));
  await page.locator('[data-agent="analyst"][data-stage="complete"]').waitFor();

  // One that waits for approval still waits when it is saved.
  await page.goto(program.page + projectPath(id, '/artifacts/manager'));
  await page.getByLabel('Problem', { exact: true }).fill('Mites.');
  await save(page).click();
  await page.getByText(words.edit.stillWaits).waitFor();
  const { system_state } = await (await api(program).call(`/build/api/hydrate/${id}`)).json();
  expect(system_state.approvals[0].artifactId).toBe((await newest(id, 'manager')).id);
  await close();
});

it('looks right and is accessible in both themes and widths', async () => {
  vendor.texts = { analyst: SHEET };
  const id = await written();
  await checkAllLooks([
    [projectPath(id, '/artifacts/analyst'), 'textarea'],
    [projectPath(id, '/artifacts/manager?edit=1'), 'textarea'],
  ]);
});
