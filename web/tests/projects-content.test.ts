/* Projects: their description, artifacts, hostile texts, and how the screens look. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { words as common } from '$words/common';
import { words } from '$words/projects';
import { api } from './api';
import {
  checkAllLooks,
  makeProject,
  numbered,
  open,
  openApproval,
  program,
  projectPath,
  runUntilWaiting,
  vendor,
} from './project-setup';

it('says that the description cannot be changed while a run reads it', async () => {
  vendor.texts = { analyst: numbered(400) };
  vendor.pause = 30;
  const id = await makeProject();
  const { page, close } = await open(projectPath(id, '/about'), { allow: /409/ });
  await page.getByRole('button', { name: words.project.editSeed }).click();
  await page.getByLabel(words.project.seed).fill('Another diary.');
  // Started by another person: the page does not know yet.
  await page.route('**/build/api/state/*', (route) => route.abort());
  await api(program).call('/build/api/execute', {
    method: 'POST',
    headers: { Prefer: 'respond-async' },
    body: JSON.stringify({ projectId: id, phase: 'prd' }),
  });
  await page.getByRole('button', { name: common.save }).click();
  await page.getByRole('alert').getByText(words.project.seedBusy).waitFor();
  expect(await page.getByLabel(words.project.seed).inputValue()).toBe('Another diary.');
  await close();
});

it('compares versions, downloads an artifact and all of them', async () => {
  vendor.texts = { manager: '# First\n\nold line' };
  const id = await makeProject();
  const { page, close } = await open(projectPath(id));
  await runUntilWaiting(page);
  vendor.texts = { manager: '# First\n\nnew line' };
  const [{ approvalId }] = (await (await api(program).call(`/build/api/state/${id}`)).json()).approvals;
  await api(program).post('/build/api/resume', {
    projectId: id,
    approvalId,
    decision: 'reject',
    feedback: 'again',
  });
  await page.goto(program.page + projectPath(id, '/artifacts/manager'));
  await page.getByLabel(words.artifacts.compare).selectOption('1');
  const diff = page.getByRole('group', { name: words.artifacts.compare });
  await diff.getByText(common.diff.sum(1, 1)).waitFor();
  expect(await diff.locator('mark').allInnerTexts()).toEqual(['old', 'new']);
  // The comparison is in the address.
  await page.reload();
  await diff.getByText(common.diff.sum(1, 1)).waitFor();

  let waiting = page.waitForEvent('download');
  await page.getByRole('button', { name: words.artifacts.download }).click();
  let file = await waiting;
  expect(file.suggestedFilename()).toBe('prd-manager.v2.md');
  expect(readFileSync((await file.path())!, 'utf8')).toBe('# First\n\nnew line');

  waiting = page.waitForEvent('download');
  await page.getByRole('button', { name: words.artifacts.zip }).click();
  await page.getByRole('menuitem', { name: words.artifacts.zipAll }).click();
  file = await waiting;
  expect(file.suggestedFilename()).toBe('Bees.zip');
  expect(
    readFileSync((await file.path())!)
      .subarray(0, 2)
      .toString(),
  ).toBe('PK');
  await close();
});

it('shows what hostile models and names say as text', async () => {
  const hostile =
    '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script> [a](javascript:window.hacked=1) ![p](https://evil.example/p.png) https://evil.example';
  vendor.texts = {
    analyst: hostile,
    manager: hostile,
    developer: hostile,
    modeller: JSON.stringify({ hostile }),
  };
  const id = await makeProject(hostile.slice(0, 190));
  const { page, close } = await open(projectPath(id));
  await runUntilWaiting(page);
  await openApproval(page);
  await page.getByRole('button', { name: words.inbox.approve }).click();
  await page.getByRole('link', { name: words.inbox.watch }).click();
  await page.getByRole('button', { name: words.run.start('Build') }).click();
  await page.getByText(words.run.projectComplete).waitFor();
  for (const rest of [
    '',
    '/artifacts/analyst',
    '/artifacts/developer',
    '/artifacts/modeller',
    '/runs',
    '/workflow',
    '/about',
  ]) {
    await page.goto(program.page + projectPath(id, rest));
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.locator('main img, main script, main a[href^="javascript"]').count(), rest).toBe(0);
  }
  expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
  await close();
});

it('looks right and is accessible in both themes and widths', async () => {
  const id = await makeProject(
    'A project with a long name that does not fit into a narrow column of a small screen at all',
  );
  const { page, close } = await open(projectPath(id));
  await runUntilWaiting(page);
  await close();
  const [run] = await (await api(program).call(`/build/api/projects/${id}/runs`)).json();
  await checkAllLooks([
    ['#/projects', '[data-project]'],
    ['#/projects/new', 'form'],
    [projectPath(id), '[data-agent]'],
    [projectPath(id, '/artifacts/analyst'), '.markdown'],
    [projectPath(id, `/runs/${run.id}`), '.timeline'],
    [projectPath(id, '/workflow?agent=manager'), '[data-stage]'],
    [projectPath(id, '/about'), 'dl'],
  ]);
});
