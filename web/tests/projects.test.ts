/* Projects: the list, runs that are followed, their control, artifacts, traces and the workflow. */
import { expect, it } from 'vitest';
import { words as common } from '$words/common';
import { words } from '$words/projects';
import { api } from './api';
import { startLink } from './link';
import {
  agentRow,
  makeProject,
  numbered,
  open,
  program,
  projectPath,
  vendor,
  written,
} from './project-setup';

it('creates a project, and what was typed survives a reload', async () => {
  const { page, close } = await open('#/projects/new');
  await page.getByRole('button', { name: words.create.action }).click();
  await page.getByText(words.create.nameMissing).waitFor();
  await page.getByLabel(words.create.name, { exact: true }).fill('Hives <b>& bees</b>');
  await page.getByLabel(words.create.seed).fill('A diary.');
  await page.reload();
  expect(await page.getByLabel(words.create.seed).inputValue()).toBe('A diary.');
  await page.getByRole('button', { name: words.create.action }).click();
  await page.getByRole('heading', { name: 'Hives <b>& bees</b>' }).waitFor();
  await page.getByText(words.run.never).waitFor();

  // Its owner changes both in place.
  await page.getByRole('button', { name: words.project.rename }).click();
  const name = page.getByLabel(words.create.name, { exact: true });
  await name.fill(' ');
  await name.press('Enter');
  await page.getByRole('alert').getByText(words.create.nameMissing).waitFor();
  await name.fill('Bee <i>diary</i>');
  await name.press('Enter');
  await page.getByRole('heading', { name: 'Bee <i>diary</i>' }).waitFor();
  await name.waitFor({ state: 'detached' });
  await page.getByRole('tab', { name: words.project.tabs.about }).click();
  await page.getByRole('button', { name: words.project.editSeed }).click();
  await page.getByLabel(words.project.seed).fill('A diary of each hive.');
  await page.reload();
  expect(await page.getByLabel(words.project.seed).inputValue()).toBe('A diary of each hive.');
  await page.getByRole('button', { name: common.save }).click();
  await page.getByText('A diary of each hive.').waitFor();
  await page.reload();
  await page.getByText('A diary of each hive.').waitFor();
  await page.getByRole('heading', { name: 'Bee <i>diary</i>' }).waitFor();
  await close();
});

it('follows a run across a reload and a time offline: nothing is lost, nothing doubled', async () => {
  const text = numbered(300);
  vendor.texts = { analyst: text };
  vendor.pause = 30;
  const link = await startLink(program);
  const path = projectPath(await makeProject());
  const { page, close } = await open(path, { allow: /ERR_|Failed to load/ }, link.page);
  await page.getByRole('button', { name: words.run.start('Requirements') }).click();
  await page.getByText(/w20\b/).waitFor();
  expect(await agentRow(page, 'analyst').getAttribute('data-stage')).toBe('writing');
  await page.getByText(words.run.working('Analyst')).waitFor();

  await page.reload();
  await page.getByText(/w60\b/).waitFor();
  expect(text.startsWith((await written(page)).replace(/w?\d*$/, '').trim())).toBe(true);

  link.cut();
  // What had arrived is shown by then. Some 30 words are written after it.
  await page.waitForTimeout(500);
  const before = await written(page);
  await page.waitForTimeout(1000);
  expect(await written(page)).toBe(before);
  link.mend();
  await page.getByText(/w200\b/).waitFor();
  vendor.pause = 0;
  await agentRow(page, 'analyst').click();
  await page.locator('[data-agent="analyst"][data-stage="complete"]').waitFor();
  expect(await written(page)).toBe(text);
  await close();
  link.stop();
});

it('keeps the end in view only for a reader who is there', async () => {
  vendor.texts = { analyst: Array.from({ length: 400 }, (_, index) => `line ${index}\n\n`).join('') };
  vendor.pause = 10;
  const { page, close } = await open(projectPath(await makeProject()));
  await page.getByRole('button', { name: words.run.start('Requirements') }).click();
  await page.getByText('line 60', { exact: true }).waitFor();
  const region = page.getByRole('region', { name: 'Analyst' });
  const fromEnd = () =>
    region.evaluate((element) => element.scrollHeight - element.clientHeight - element.scrollTop);
  await expect.poll(fromEnd).toBeLessThan(60);
  await region.evaluate((element) => element.scrollTo(0, 0));
  await page.getByRole('button', { name: words.run.newText }).waitFor();
  expect(await region.evaluate((element) => element.scrollTop)).toBe(0);
  await page.getByRole('button', { name: words.run.newText }).click();
  await expect.poll(fromEnd).toBeLessThan(60);
  await close();
});

it('interrupts, resumes and cancels a run', async () => {
  vendor.texts = { analyst: numbered(400) };
  vendor.pause = 30;
  const { page, close } = await open(projectPath(await makeProject()));
  await page.getByRole('button', { name: words.run.start('Requirements') }).click();
  await page.getByText(/w10\b/).waitFor();
  await page.getByRole('button', { name: words.run.interrupt }).click();
  await page.getByText(words.run.interrupted).waitFor();
  await page.getByText(words.status.interrupted).first().waitFor();
  await page.getByRole('button', { name: words.run.resume }).click();
  await page.locator('[data-agent="analyst"][data-stage="writing"]').waitFor();
  await page.getByRole('button', { name: words.run.cancel }).click();
  await page.getByRole('dialog').getByLabel(words.run.reason).fill('not needed');
  await page.getByRole('dialog').getByRole('button', { name: words.run.cancel }).click();
  await page.getByText(words.run.cancelled).waitFor();
  await page.getByText('not needed').waitFor();
  await page.locator('[data-agent="analyst"][data-stage="cancelled"]').waitFor();
  await close();
});

it('says why a run has failed, and executes it again', async () => {
  vendor.texts = { analyst: null };
  const { page, close } = await open(projectPath(await makeProject()));
  await page.getByRole('button', { name: words.run.start('Requirements') }).click();
  const fault = page.getByRole('alert');
  await fault.getByText(words.run.failed('Analyst')).waitFor();
  vendor.texts = {};
  await fault.getByRole('button', { name: words.run.executeAgain }).click();
  await page.getByText(words.run.waits(1)).waitFor();
  await page.getByRole('tab', { name: words.project.tabs.runs }).click();
  await page.getByRole('list', { name: words.runs.traces }).getByText(words.runs.traceStatus.error).waitFor();
  await close();
});

it('executes a failed run again with the model that was chosen for it', async () => {
  vendor.texts = { analyst: null };
  const id = await makeProject();
  const { page, close } = await open(projectPath(id));
  await page.getByRole('button', { name: words.run.options }).click();
  await page.getByRole('dialog').getByLabel(words.run.model.provider).selectOption('vendor-a');
  await page.getByRole('dialog').getByLabel(words.run.model.model).fill('large-1');
  await page.getByRole('dialog').getByRole('button', { name: words.run.model.action, exact: true }).click();
  const fault = page.getByRole('alert');
  await fault.getByText(/the one that was chosen: .*large-1/).waitFor();
  vendor.texts = {};
  await fault.getByRole('button', { name: words.run.executeAgain }).click();
  await page.getByText(words.run.waits(1)).waitFor();
  const [run] = await (await api(program).call(`/build/api/projects/${id}/runs`)).json();
  expect(run).toMatchObject({ provider: 'vendor-a', model: 'large-1' });
  await close();
});

it('says that a small model lays out worksheets, and shows them as such', async () => {
  vendor.texts = {
    analyst: '> A worksheet: `tiny-10M` is too small a model to write this document. Give it',
  };
  const id = await makeProject();
  const { page, close } = await open('#/projects');
  await page.route('**/core/api/providers', (route) =>
    route.fulfill({
      json: {
        default: 'edge-ai',
        providers: [
          { name: 'edge-ai', label: 'Embedded model', model: 'tiny', configured: true },
          { name: 'vendor-a', label: 'OpenAI', model: null, configured: false },
        ],
        agentTypes: [],
      },
    }),
  );
  // Its name says nothing of its size.
  await page.route('**/build/api/workflow', async (route) => {
    const json = await (await route.fetch()).json();
    json.phases[0].agents[0].writes = false;
    await route.fulfill({ json });
  });
  await page.goto(program.page + projectPath(id));
  await page.reload();
  await page.getByText(words.worksheet.before('tiny')).waitFor();
  await page.getByRole('link', { name: words.worksheet.configure }).waitFor();
  await page.getByRole('button', { name: words.run.start('Requirements') }).click();
  await page.getByRole('link', { name: words.run.review }).click();
  await page.getByRole('button', { name: words.inbox.approve }).click();
  await page.getByRole('link', { name: words.inbox.watch }).click();
  await page.getByText(words.worksheet.ended(1)).waitFor();
  await page.locator('[data-agent="analyst"][data-stage="worksheet"]').click();

  // The chosen phase stays chosen while its artifact is open.
  const chosen = page.getByRole('navigation', { name: words.project.phases }).locator('[aria-current]');
  await chosen.filter({ hasText: words.phase.worksheets }).waitFor();
  await page.getByRole('link', { name: words.run.openArtifact }).click();
  await page.getByRole('button', { name: words.artifacts.download }).waitFor();
  expect(await chosen.innerText()).toContain('Requirements');
  expect(await page.getByText(words.agent.worksheet).count()).toBe(2);
  await page.getByRole('link', { name: 'Manager' }).click();
  await page.getByText('Text of manager.').waitFor();
  expect(await chosen.innerText()).toContain('Requirements');
  await close();
});

it('filters by address, and Back returns to the place in the list', async () => {
  for (let n = 0; n < 30; n++) await makeProject(`Listed ${n}`);
  const { page, close } = await open('#/projects');
  const rows = page.getByRole('list', { name: words.list.label });
  const named = (name: string) => rows.locator('strong').getByText(name, { exact: true });
  await named('Listed 29').waitFor();
  const view = rows.locator('..');
  await view.evaluate((element) => element.scrollTo(0, 700));
  await named('Listed 15').click();
  await page.getByRole('heading', { name: 'Listed 15' }).waitFor();
  await page.goBack();
  await named('Listed 15').waitFor();
  await expect.poll(() => view.evaluate((element) => element.scrollTop)).toBe(700);
  await page.getByLabel(words.list.filter).fill('listed 2');
  await page.reload();
  await named('Listed 20').waitFor();
  expect(await named('Listed 15').count()).toBe(0);
  await close();
});

it('deletes a project, and brings it back', async () => {
  const id = await makeProject('Short-lived');
  const { page, close } = await open(projectPath(id));
  const remove = async () => {
    await page.getByRole('button', { name: words.project.actions }).click();
    await page.getByRole('menuitem', { name: words.project.delete }).click();
    await page.getByText(words.project.deleted('Short-lived')).waitFor();
  };
  await remove();
  const row = page.getByRole('list', { name: words.list.label }).getByText('Short-lived');
  expect(await row.count()).toBe(0);
  await page.getByRole('button', { name: common.undo }).click();
  await row.first().click();
  await remove();
  // A page that is left no longer offers to undo.
  await page.goto('about:blank');
  await expect
    .poll(() =>
      api(program)
        .call(`/build/api/projects/${id}`)
        .then(
          () => 'there',
          () => 'gone',
        ),
    )
    .toBe('gone');
  await close();
});
