/* The inbox of projects: reading, approving, editing and rejecting, also when another person was faster. */
import type { Page } from 'playwright-core';
import { beforeEach, expect, it } from 'vitest';
import { words as common } from '$words/common';
import { words } from '$words/projects';
import { words as shell } from '$words/shell';
import { api } from './api';
import { visit } from './harness';
import {
  browser,
  checkAllLooks,
  openApproval,
  program,
  projectPath,
  runUntilWaiting,
  vendor,
} from './project-setup';

beforeEach(async () => {
  vendor.texts = { manager: '# Diary\n\nOne line is here.' };
  for (const { id } of await (await api(program).call('/build/api/projects')).json())
    await api(program).call(`/build/api/projects/${id}`, { method: 'DELETE' });
});

/** Runs in the page: tells the test what is sent to decide. */
function noteDecisions() {
  const send = window.fetch;
  window.fetch = async (input, init) => {
    const note = (window as unknown as { noteSent: (body: string) => void }).noteSent;
    if (input instanceof Request && input.url.endsWith('/api/resume')) note(await input.clone().text());
    return send(input, init);
  };
}

/** Opens a project whose first artifact waits, and its approval. Notes what is sent to decide. */
async function waiting(options = {}, project = {}) {
  const { id } = await api(program).makeProject('Bees', project);
  const sent: object[] = [];
  const prepare = async (page: Page) => {
    await page.exposeFunction('noteSent', (body: string) => sent.push(JSON.parse(body)));
    await page.addInitScript(noteDecisions);
  };
  const opened = await visit(browser, program.page, { hash: projectPath(id), prepare, ...options });
  await runUntilWaiting(opened.page);
  return { ...opened, id, sent };
}
const approvalOf = async (id: string) =>
  (await (await api(program).call(`/build/api/state/${id}`)).json()).approvals[0].approvalId as string;
const editor = (page: Page) => page.getByLabel(words.edit.label);

it('counts what waits in a badge, and lists it for all projects', async () => {
  const { page, close } = await waiting();
  await page.getByLabel(shell.waiting(1)).first().waitFor();
  await page.goto(`${program.page}#/projects`);
  await page.locator('[data-project]').getByText(words.list.waits).waitFor();
  await page.goto(`${program.page}#/projects/inbox`);
  await page.getByRole('list', { name: words.inbox.label }).getByText('Bees').click();
  await page.getByText(words.inbox.first).waitFor();
  await page.getByText('One line is here.').waitFor();
  await page.getByRole('button', { name: words.inbox.approve }).click();
  await page.getByText(words.inbox.decided.approve).waitFor();
  await expect.poll(() => page.getByLabel(shell.waiting(1)).count()).toBe(0);
  await close();
});

it('rejects with a reason, and shows the changes of the next version before it is approved', async () => {
  const { page, close, sent, id } = await waiting();
  await openApproval(page);
  await page.getByRole('button', { name: words.inbox.reject }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: words.inbox.reject }).click();
  await dialog.getByText(words.inbox.reasonMissing).waitFor();
  vendor.texts = { manager: '# Diary\n\nTwo line is here.' };
  await dialog.getByLabel(words.inbox.rejectReason).fill('Name the mites.');
  const first = await approvalOf(id);
  await dialog.getByRole('button', { name: words.inbox.reject }).click();
  await page.getByRole('link', { name: words.inbox.watch }).click();
  await page.getByText(words.run.waits(1)).waitFor();
  expect(vendor.asked.at(-1)).toContain('Name the mites.');

  await openApproval(page);
  const diff = page.getByRole('group', { name: words.inbox.changes(1) });
  await diff.waitFor();
  expect(await diff.locator('mark').allInnerTexts()).toEqual(['One', 'Two']);
  await page.getByRole('heading', { name: 'Diary' }).waitFor();
  const second = await approvalOf(id);
  await page.getByRole('button', { name: words.inbox.approve }).click();
  await page.getByText(words.inbox.decided.approve).waitFor();
  expect(sent).toMatchObject([
    { approvalId: first, decision: 'reject' },
    { approvalId: second, decision: 'approve' },
  ]);
  await close();
});

it('edits with a diff, and the draft survives a reload', async () => {
  const { page, close, sent, id } = await waiting();
  await openApproval(page);
  const approvalId = await approvalOf(id);
  await page.getByRole('button', { name: words.edit.start }).click();
  expect(await page.getByRole('button', { name: words.inbox.sendEdit }).isDisabled()).toBe(true);
  await editor(page).fill('# Diary\n\nMy line.');
  await page.getByText(common.diff.sum(1, 1)).waitFor();
  await page.reload();
  await page.getByText(common.diff.sum(1, 1)).waitFor();
  expect(await editor(page).inputValue()).toBe('# Diary\n\nMy line.');
  await page.getByRole('button', { name: words.inbox.sendEdit }).click();
  await page.getByText(words.inbox.decided.edit).waitFor();
  expect(sent).toMatchObject([{ approvalId, decision: 'edit', content: '# Diary\n\nMy line.' }]);
  await page.goto(program.page + projectPath(id, '/artifacts/manager'));
  await page.getByText('My line.').waitFor();
  await close();
});

it('saves an edit without a decision: the new version waits in its place', async () => {
  const { page, close, sent, id } = await waiting();
  await openApproval(page);
  await page.getByRole('button', { name: words.edit.start }).click();
  await editor(page).fill('# Diary\n\nMy line.');
  await page.getByRole('button', { name: words.edit.save, exact: true }).click();
  await page.getByRole('group', { name: words.inbox.changes(1) }).waitFor();
  await page.getByRole('button', { name: words.inbox.approve }).click();
  await page.getByText(words.inbox.decided.approve).waitFor();
  expect(sent).toMatchObject([{ decision: 'approve' }]);
  await page.goto(program.page + projectPath(id, '/artifacts/manager'));
  await page.getByText('My line.').waitFor();
  await close();
});

it('says in words that another person has decided, shows what, and keeps the draft', async () => {
  const { page, close, id } = await waiting({ allow: /409/ });
  await openApproval(page);
  await page.getByRole('button', { name: words.edit.start }).click();
  await editor(page).fill('# Mine');
  const approvalId = await approvalOf(id);
  await api(program).post('/build/api/resume', {
    projectId: id,
    approvalId,
    decision: 'edit',
    content: '# Theirs',
  });
  await page.getByRole('button', { name: words.inbox.sendEdit }).click();
  const alert = page.getByRole('alert');
  await alert.getByText('admin has replaced this text').waitFor();
  await alert.getByRole('group', { name: words.inbox.theirVersion }).getByText('# Theirs').waitFor();
  await alert.getByText(words.inbox.draftKept).waitFor();
  expect(await editor(page).inputValue()).toBe('# Mine');
  // The address still tells it after a reload.
  await page.reload();
  await page.getByText(words.inbox.gone, { exact: true }).waitFor();
  await close();
});

it('lets others read, and says who decides', async () => {
  const space = await api(program).makeSpace('Apiary');
  const { id, close } = await waiting({}, { space_id: space.id });
  const user = await api(program).makeUser('dora');
  await api(program).addMember(space.id, user.username, 'reader');
  const hash = `#/projects/inbox/${await approvalOf(id)}?project=${id}`;
  const reader = await visit(browser, program.page, { user, hash });
  await reader.page.getByText('One line is here.').waitFor();
  await reader.page.getByText(words.inbox.notAllowed).waitFor();
  expect(await reader.page.getByRole('button', { name: words.inbox.approve }).count()).toBe(0);
  await reader.close();
  await close();
});

it('looks right and is accessible in both themes and widths', async () => {
  const { id, close } = await waiting();
  await close();
  const approval = `#/projects/inbox/${await approvalOf(id)}?project=${id}`;
  await checkAllLooks([
    ['#/projects/inbox', 'h1'],
    [approval, '.markdown'],
    [`${approval}&edit=1`, 'textarea'],
  ]);
});
