/* Projects: whose they are, what others may do with them, and what is said before one is made. */
import { beforeEach, expect, it } from 'vitest';
import { words as common } from '$words/common';
import { words } from '$words/projects';
import { api } from './api';
import { makeProject, open, program, projectPath, runUntilWaiting } from './project-setup';

beforeEach(async () => {
  for (const { id } of await (await api(program).call('/build/api/projects')).json())
    await api(program).call(`/build/api/projects/${id}`, { method: 'DELETE' });
});

it('belongs to its owner, who shares it with a space and takes it out again', async () => {
  const { makeUser, makeSpace, addMember } = api(program);
  const [ada, rita, eva] = [await makeUser('ada'), await makeUser('rita'), await makeUser('eva')];
  const space = await makeSpace('Apiary');
  await makeSpace('Read only');
  await addMember(space.id, 'ada', 'editor');
  await addMember(space.id, 'rita', 'reader');
  await makeProject('Of the administrators');

  const owner = await open('#/projects', { user: ada });
  await owner.page.getByText(words.list.empty).waitFor();
  await owner.page.getByRole('link', { name: words.list.new }).click();
  await owner.page.getByLabel(words.create.name, { exact: true }).fill('Bees');
  await owner.page.getByLabel(words.create.seed).fill('A diary.');
  const choices = owner.page.getByLabel(words.share.label).locator('option');
  await expect.poll(() => choices.allInnerTexts()).toEqual([words.share.none, 'Apiary']);
  await owner.page.getByLabel(words.share.label).selectOption({ label: 'Apiary' });
  await owner.page.getByRole('button', { name: words.create.action }).click();
  await owner.page.getByRole('heading', { name: 'Bees' }).waitFor();
  await owner.page.getByTitle(words.owner.title(words.owner.you)).waitFor();
  await owner.page.getByText('Apiary').waitFor();
  const hash = new URL(owner.page.url()).hash;

  // An owner who is no administrator has all that there is.
  await runUntilWaiting(owner.page);
  await owner.page.getByRole('link', { name: words.run.review }).click();
  await owner.page.getByRole('button', { name: words.inbox.approve }).waitFor();

  const reader = await open('#/projects', { user: rita });
  const row = reader.page.locator('[data-project]');
  await row.getByTitle(words.owner.title('ada')).waitFor();
  await row.getByText('Apiary').waitFor();
  expect(await row.count()).toBe(1);
  await row.click();
  await reader.page.getByText(words.access.read).waitFor();
  await reader.page.getByRole('link', { name: words.run.read }).waitFor();
  for (const name of [words.project.rename, words.project.actions, words.run.cancel])
    expect(await reader.page.getByRole('button', { name }).count(), name).toBe(0);
  await reader.page.getByRole('link', { name: words.run.read }).click();
  await reader.page.getByText(words.inbox.notAllowed).waitFor();
  await reader.page.goto(program.page + hash.replace(/\?.*/, '') + '/artifacts/analyst');
  await reader.page.getByText('Text of analyst.').waitFor();
  expect(await reader.page.getByRole('button', { name: words.edit.start, exact: true }).count()).toBe(0);

  // Out of the space, it is the owner's alone.
  await owner.page.goto(program.page + hash);
  await owner.page.getByRole('button', { name: words.project.actions }).click();
  await owner.page.getByRole('menuitem', { name: words.share.action }).click();
  const dialog = owner.page.getByRole('dialog', { name: words.share.title });
  await dialog.getByLabel(words.share.label).selectOption({ label: words.share.none });
  await dialog.getByRole('button', { name: common.save }).click();
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(() => owner.page.getByText('Apiary').count()).toBe(0);
  await owner.close();
  await reader.page.goto(program.page + hash);
  await reader.page.reload();
  await reader.page.getByText(words.project.gone).waitFor();
  reader.faults.length = 0;
  await reader.close();
  const other = await open('#/projects', { user: eva });
  await other.page.getByText(words.list.empty).waitFor();
  await other.close();
  const admin = await open('#/projects');
  await admin.page
    .locator('[data-project]')
    .getByTitle(words.owner.title(words.owner.administrators))
    .waitFor();
  await admin.page.locator('[data-project]').getByTitle(words.owner.title('ada')).waitFor();
  await admin.close();
});

it('calls a state by the same word in the list, the filter and the page', async () => {
  const id = await makeProject();
  const { page, close } = await open(projectPath(id));
  await runUntilWaiting(page);
  const word = await page.locator('header .name .badge').innerText();
  await page.goto(`${program.page}#/projects`);
  await page.locator('[data-project] .badge').getByText(word, { exact: true }).waitFor();
  await page.getByLabel(words.list.status).selectOption({ label: word });
  await page.locator('[data-project]').getByText(words.list.waits).waitFor();
  await close();
});

it('says what the model at hand can do before the idea is written', async () => {
  const user = await api(program).makeUser('ada');
  for (const [who, writes] of [
    [undefined, true],
    [undefined, false],
    [user, false],
  ] as const) {
    const { page, close } = await open('#/projects', { user: who });
    if (!writes) {
      await page.route('**/core/api/providers', (route) =>
        route.fulfill({
          json: {
            default: 'edge-ai',
            providers: [{ name: 'edge-ai', label: 'Embedded model', model: 'tiny', configured: true }],
            agentTypes: [],
          },
        }),
      );
      await page.route('**/build/api/workflow', async (route) => {
        const json = await (await route.fetch()).json();
        for (const { agents } of json.phases) for (const agent of agents) agent.writes = false;
        await route.fulfill({ json });
      });
    }
    await page.goto(`${program.page}#/projects/new`);
    await page.reload();
    if (writes) await page.getByText(/^Agents write documents with/).waitFor();
    else await page.getByText(words.worksheet.before('tiny')).waitFor();
    if (!writes && who) await page.getByText(words.worksheet.ask).waitFor();
    if (!writes && !who) await page.getByRole('link', { name: words.worksheet.configure }).waitFor();
    await close();
  }
});
