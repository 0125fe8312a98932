/* Home: entries are shown, edited in place, and found by their address; the first steps tick themselves off. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { words as common } from '$words/common';
import { words } from '$words/home';
import { words as projects } from '$words/projects';
import { checkLooks, visit } from './harness';
import { browser, program, server } from './program';

const HOSTILE =
  '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script> [go](javascript:alert(1))';
const section = (page: Page, kind: keyof typeof words.kinds) =>
  page.getByRole('region', { name: words.kinds[kind].title });
const title = (page: Page) => page.getByLabel(words.fields.title!, { exact: true });
const save = (page: Page) => page.getByRole('button', { name: common.save, exact: true }).click();

describe('the first steps', () => {
  it('tick themselves off by what the user does, and stay dismissed', async () => {
    // Whatever runs on this machine.
    const prepare = (page: Page) =>
      page.route('**/api/connections/found', (route) => route.fulfill({ json: { servers: [] } }));
    const { page, close } = await visit(browser, program.page, { prepare });
    const steps = page.getByRole('region', { name: words.checklist.title });
    await steps.waitFor();
    expect(await steps.getByText(words.checklist.doneWord).count()).toBe(0);
    expect(await steps.getByRole('link').count()).toBe(4);
    // One click asks for files, and shows where they go.
    const chooser = page.waitForEvent('filechooser');
    await steps.getByRole('link', { name: words.checklist.steps.document.action }).click();
    const file = { name: 'first.txt', mimeType: 'text/plain', buffer: Buffer.from('The first file.') };
    await (await chooser).setFiles([file]);
    expect(new URL(page.url()).hash).toBe('#/documents');
    await page.getByText('first.txt').first().waitFor();
    // A project of another user is not a step of this one.
    await server.makeProject('Of a colleague');
    await page.goto(`${program.page}#/`);
    await page.reload();
    await steps.getByText(words.checklist.doneWord).waitFor({ state: 'attached' });
    expect(await steps.getByRole('link').count()).toBe(3);
    await steps.getByRole('link', { name: words.checklist.steps.project.action }).click();
    await page.getByLabel(projects.create.name).fill('My own');
    await page.getByLabel(projects.create.seed).fill('A diary.');
    await page.getByRole('button', { name: projects.create.action }).click();
    await page.getByRole('heading', { name: 'My own' }).waitFor();
    await page.goto(`${program.page}#/`);
    await expect.poll(() => steps.getByRole('link').count()).toBe(2);
    await steps.getByRole('button', { name: words.checklist.dismiss }).click();
    await page.reload();
    await section(page, 'update').waitFor();
    await page.waitForLoadState('networkidle');
    expect(await steps.count()).toBe(0);
    await close();
  });
});

describe('entries', () => {
  it('name one next action where there are none', async () => {
    const { page, close } = await visit(browser, program.page);
    for (const kind of ['goal', 'task', 'page'] as const) {
      await section(page, kind).getByText(words.kinds[kind].none).waitFor();
      expect(
        await section(page, kind).getByRole('button', { name: words.kinds[kind].add }).count(),
      ).toBeGreaterThan(0);
    }
    await section(page, 'team').getByText(words.teamsCommand).waitFor();
    await close();
  });

  it('are added, changed and deleted in place, with undo', async () => {
    const { page, close } = await visit(browser, program.page);
    const goals = section(page, 'goal');
    await goals.getByRole('button', { name: words.kinds.goal.add }).first().click();
    await title(page).fill('Paperless');
    await page.getByLabel(words.fields.progress!).fill('40');
    await page.keyboard.press('Enter');
    await goals.getByRole('progressbar', { name: words.progressOf('Paperless') }).waitFor();

    const act = async (name: string) => {
      await goals.getByRole('button', { name: words.actions('Paperless') }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await act(common.edit);
    await page.getByLabel(words.fields.progress!).fill('65');
    await save(page);
    await goals.getByText(words.percent(65)).waitFor();

    await act(common.delete);
    await goals.getByText('Paperless').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: common.undo }).click();
    await goals.getByText('Paperless').waitFor();
    await act(common.delete);
    await goals.getByText('Paperless').waitFor({ state: 'detached' });
    // Leaving the page carries out what could still be undone.
    await page.goto('about:blank');
    await expect.poll(async () => (await server.call('/kv/api/portal/goals')).json()).toEqual([]);
    await close();
  });

  it('show both versions if someone else has changed them, with the choice', async () => {
    const { id } = await server.makeEntry('page', { title: 'Opening hours', body: 'Nine to five.' });
    const { page, close } = await visit(browser, program.page, { hash: `#/?edit=page:${id}`, allow: /412/ });
    await title(page).fill('My hours');
    await page.getByLabel(words.fields.body!).fill('Ten to six.');
    await server.changeEntry('page', id, { title: 'Their hours' });
    await save(page);
    const dialog = page.getByRole('dialog', { name: words.conflict.title });
    const field = (name: string) => dialog.getByRole('group', { name: words.fields[name]! });
    await field('title').getByText('Their hours').waitFor();
    await field('title').getByText('My hours').waitFor();
    // Only this side changed the text, so this side is chosen already.
    expect(await field('body').getByRole('radio', { name: words.conflict.yours }).isChecked()).toBe(true);
    expect(await field('title').getByRole('radio', { name: words.conflict.theirs }).isChecked()).toBe(true);
    await dialog.getByRole('button', { name: words.conflict.save }).click();
    await dialog.waitFor({ state: 'detached' });
    const saved = async () => (await server.call(`/kv/api/portal/pages/${id}`)).json();
    await expect.poll(saved).toMatchObject({ title: 'Their hours', body: 'Ten to six.' });
    await close();
  });

  it('keep a draft over a reload, and what was deleted meanwhile can be added again', async () => {
    const { id } = await server.makeEntry('task', { title: 'Move the fax' });
    const { page, close } = await visit(browser, program.page, { hash: `#/?edit=task:${id}`, allow: /404/ });
    await title(page).fill('Move both faxes');
    await page.reload();
    await page.getByText(words.form.draft).waitFor();
    expect(await title(page).inputValue()).toBe('Move both faxes');
    await server.call(`/kv/api/portal/tasks/${id}`, { method: 'DELETE' });
    await save(page);
    await page.getByText(words.form.deletedMeanwhile).waitFor();
    await page.getByRole('button', { name: words.form.addAgain }).click();
    await section(page, 'task').getByRole('link', { name: 'Move both faxes' }).waitFor();
    await close();
  });

  it('open by their address, and cannot run script', async () => {
    const { id } = await server.makeEntry('update', {
      title: `Hostile ${HOSTILE}`,
      body: `# Heading\n\n${HOSTILE}`,
      author: HOSTILE,
    });
    await server.makeEntry('tool', { name: HOSTILE, url: 'https://example.org/', description: HOSTILE });
    const { page, close } = await visit(browser, program.page, {
      hash: `#/?show=update:${id}`,
      allow: /404/,
    });
    const pane = page.getByRole('complementary');
    await pane.getByRole('heading', { name: 'Heading' }).waitFor();
    expect(await pane.getByText('onerror=').count()).toBeGreaterThan(0);
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
    expect(await page.locator('main img, main script, main a[href^="javascript"]').count()).toBe(0);
    await page.keyboard.press('Escape');
    await pane.waitFor({ state: 'detached' });
    expect(new URL(page.url()).hash).toBe('#/');
    await page.goBack();
    await pane.waitFor();
    await page.goto(`${program.page}#/?show=update:nothing`);
    await pane.getByText(words.gone.title).waitFor();
    await close();
  });

  it('scroll by the thousand, are filtered by the address, and Back returns to the place', async () => {
    for (let n = 0; n < 12; n++) {
      await Promise.all(
        Array.from({ length: 25 }, (_, i) => server.makeEntry('task', { title: `Task ${n * 25 + i}` })),
      );
    }
    const { page, close } = await visit(browser, program.page, { hash: '#/?list=task' });
    const list = page.getByRole('list', { name: words.kinds.task.title });
    await list.getByRole('listitem').first().waitFor();
    expect(await list.getByRole('listitem').count()).toBeLessThan(60);
    const scroll = () => list.evaluate((element) => element.parentElement!.scrollTop);
    await list.evaluate((element) => (element.parentElement!.scrollTop = 6000));
    await expect.poll(scroll).toBe(6000);
    await list.getByRole('link').nth(12).click();
    await page.getByRole('complementary').waitFor();
    expect(await scroll()).toBe(6000);
    await page.goto(`${program.page}#/documents`);
    await page.goBack();
    await expect.poll(scroll).toBe(6000);
    await page.getByLabel(words.filter).fill('task 299');
    await expect.poll(() => list.getByRole('listitem').count()).toBe(1);
    expect(new URL(page.url()).hash).toContain('q=task+299');
    await close();
  });

  it('stay in the page when a request fails, with a way on', async () => {
    const { page, close } = await visit(browser, program.page, { allow: /503/ });
    const updates = section(page, 'update');
    const first = updates.getByRole('link').first();
    await first.waitFor();
    await page.route('**/api/portal/updates*', (route) =>
      route.fulfill({ status: 503, json: { error: 'busy', code: 'BUSY' } }),
    );
    await page.goto(`${program.page}#/documents`);
    await page.goto(`${program.page}#/`);
    await updates.getByRole('alert').waitFor();
    expect(await first.isVisible()).toBe(true);
    await page.unroute('**/api/portal/updates*');
    await updates.getByRole('button', { name: common.retry }).click();
    await updates.getByRole('alert').waitFor({ state: 'detached' });
    await close();
  });
});

it('is accessible in both themes and widths, full and with a form and an entry open', async () => {
  await server.makeEntry('goal', {
    title: 'هدف',
    progress: 30,
    dueAt: 1_700_000_000_000,
    owner: 'x'.repeat(300),
  });
  const { id } = await server.makeEntry('update', {
    title: 'y'.repeat(400),
    body: 'A long text. '.repeat(100),
    pinned: true,
  });
  await checkLooks(browser, program.page, `#/?new=goal&show=update:${id}`, async (page) => {
    await page.locator('[data-pane]').getByText('A long text.').first().waitFor();
    await page.getByText(words.status.ok).first().waitFor({ state: 'attached' });
  });
});
