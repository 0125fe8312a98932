/* Connections to models: found, added, tried, changed, chosen and removed by an administrator. */
import type { Page } from 'playwright-core';
import { words as common } from '$words/common';
import { words as home } from '$words/home';
import { words } from '$words/models';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkLooks, startProgram, visit } from './harness';
import { api } from './api';
import { browser, program, server } from './program';
import { startVendor, type Vendor } from './vendor';

let vendor: Vendor;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.stop());

/** Makes the page find the vendor as a server on its machine, until it is connected. */
async function findVendor(page: Page): Promise<void> {
  const models = ['embedder', 'writer', 'other'].map((name) => ({ name, window: 32_768 }));
  const found = { name: 'Ollama', kind: 'openai', baseUrl: vendor.url, models };
  let connected = false;
  await page.route('**/api/connections', async (route) => {
    connected ||= route.request().method() === 'POST';
    await route.continue();
  });
  await page.route('**/api/connections/found', (route) =>
    route.fulfill({ json: { servers: connected ? [] : [found] } }),
  );
}
/** Makes the page find no server, whatever runs on this machine. */
async function findNothing(page: Page): Promise<void> {
  await page.route('**/api/connections/found', (route) => route.fulfill({ json: { servers: [] } }));
}

async function removeAll(): Promise<void> {
  const { connections } = await (await server.call('/core/api/connections')).json();
  for (const { id } of connections) await server.call(`/core/api/connections/${id}`, { method: 'DELETE' });
}
const defaults = async () => (await server.call('/core/api/models/defaults')).json();
const openModels = (prepare = findNothing, more = {}) =>
  visit(browser, program.page, { hash: '#/admin/models', prepare, ...more });

it('are added with an address, answer at once, and are removed again', async () => {
  const { page, close } = await openModels();
  await page.getByText(words.none).waitFor();
  await page.getByRole('button', { name: words.add }).click();
  await page.getByLabel(words.form.what).selectOption(words.form.other);
  await page.getByLabel(words.form.name).fill('House');
  await page.getByLabel(words.form.address).fill(vendor.url);
  await page.getByRole('button', { name: words.form.submit, exact: true }).click();
  await page.getByText(words.form.added('House', 2)).waitFor();
  // The first connection answers, with a model that can be chosen at once.
  await page.getByLabel(words.form.answersNow).selectOption('other');
  await expect.poll(async () => (await defaults()).chat.model).toBe('other');
  await page.getByRole('dialog').getByRole('button', { name: common.close }).last().click();

  await page.getByRole('button', { name: words.test, exact: true }).click();
  await page.getByText(/writer wrote “Text of/).waitFor();
  const questions = page.getByLabel(words.answers.chat);
  await expect.poll(() => questions.locator('option:checked').innerText()).toBe('House: other');
  await questions.selectOption('House: writer');
  await expect.poll(async () => (await defaults()).chat.model).toBe('writer');
  expect((await defaults()).agents.model).toBe('other');
  const names = page.getByLabel(words.answers.graph);
  expect(await names.locator('option:checked').innerText()).toBe(words.answers.nobody);
  await names.selectOption('House: other');
  await expect.poll(async () => (await defaults()).graph?.model).toBe('other');
  const { providers } = await (await server.call('/core/api/providers')).json();
  expect(providers.map(({ name }: { name: string }) => name)).toContain('House');

  await page.getByRole('button', { name: words.actions('House') }).click();
  await page.getByRole('menuitem', { name: words.remove }).click();
  await page.getByText(words.removed('House')).waitFor();
  await expect.poll(async () => (await defaults()).chat, { timeout: 30_000 }).toBeNull();
  await close();
});

it('are added with a key only, if the vendor is known', async () => {
  const { page, close } = await openModels();
  await page.getByRole('button', { name: words.add }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(words.form.what).selectOption('OpenAI');
  expect(await dialog.locator('input:visible').count()).toBe(1);
  // The rest is there for those who need it. Nothing of a test leaves this machine.
  await dialog.getByText(words.form.more(['name', 'address'])).click();
  expect(await dialog.getByLabel(words.form.address).inputValue()).toBe('https://api.openai.com/v1');
  await dialog.getByLabel(words.form.address).fill(vendor.url);
  await dialog.getByLabel(words.form.key).fill('sk-test');
  await page.keyboard.press('Enter');
  await dialog.getByText(/is connected, with 2 models/).waitFor();
  const { connections } = await (await server.call('/core/api/connections')).json();
  expect(connections[0]).toMatchObject({ hasKey: true, kind: 'openai' });
  await close();
  await removeAll();
});

it('are changed in place, and their models read again', async () => {
  const models = [{ name: 'writer', window: 131_072, parameters: 8_200_000_000, pictures: true }];
  await server.post('/core/api/connections', { name: 'Old', kind: 'openai', baseUrl: vendor.url, models });
  const { page, faults, close } = await openModels();
  await page.getByText(words.models(1), { exact: true }).click();
  await page.getByText('reads 131,072 tokens · 8.2 billion parameters · takes pictures').waitFor();
  const choose = async (of: string, action: string) => {
    await page.getByRole('button', { name: words.actions(of) }).click();
    await page.getByRole('menuitem', { name: action }).click();
  };
  await choose('Old', words.refresh);
  await page.getByText(words.refreshed(2)).waitFor();
  await page.getByText(words.models(2), { exact: true }).waitFor();
  // What was known of a model stays, if its server does not say it.
  await page.getByText('reads 131,072 tokens').waitFor();

  await choose('Old', common.edit);
  const dialog = page.getByRole('dialog', { name: words.form.change('Old') });
  await dialog.getByLabel(words.form.name).fill('New');
  await dialog.getByLabel(words.form.key).fill('a-key');
  await dialog.getByRole('button', { name: common.save }).click();
  await page.getByText('New', { exact: true }).waitFor();
  await page.getByText(words.refreshed(2)).waitFor();
  // The key was given for another server.
  await choose('New', common.edit);
  const again = page.getByRole('dialog', { name: words.form.change('New') });
  await again.getByLabel(words.form.address).fill('http://127.0.0.1:1/v1');
  await again.getByRole('button', { name: common.save }).click();
  await again.getByText(/give it again/).waitFor();
  expect(faults.splice(0)).toHaveLength(1);
  await again.getByLabel(words.form.dropKey).check();
  await again.getByRole('button', { name: common.save }).click();
  await page.getByText(/could not be read: cannot be reached/).waitFor();
  const { connections } = await (await server.call('/core/api/connections')).json();
  expect(connections[0]).toMatchObject({ name: 'New', hasKey: false, baseUrl: 'http://127.0.0.1:1/v1' });
  await close();
  await removeAll();
});

it('are offered if they were found on the server, with a choice of their models', async () => {
  const { page, close } = await openModels(findVendor);
  await page.getByText(words.found('Ollama', 3)).waitFor();
  const model = page.getByLabel(words.foundModel('Ollama'));
  expect(await model.inputValue()).toBe('writer');
  await model.selectOption('other');
  await page.getByRole('button', { name: words.use, exact: true }).click();
  await page.getByText(words.found('Ollama', 3)).waitFor({ state: 'detached' });
  expect(await defaults()).toMatchObject({ chat: { model: 'other' }, agents: { model: 'other' } });
  await close();
  await removeAll();
});

it('are one of the first steps: a server that was found answers after one click', async () => {
  const fresh = await startProgram();
  const answering = async () =>
    (await (await api(fresh).call('/core/api/models/defaults')).json()).chat?.model;
  const { page, close } = await visit(browser, fresh.page, { prepare: findVendor });
  const steps = page.getByRole('region', { name: home.checklist.title });
  await steps.getByText(home.checklist.model.found('Ollama', 3, 'writer')).waitFor();
  await steps.getByRole('button', { name: home.checklist.model.use }).click();
  await steps.getByText(home.checklist.model.done('writer')).waitFor();
  expect(await answering()).toBe('writer');
  await close();

  // To a user who is none of the administrators, there is no such step.
  const user = await api(fresh).makeUser('colleague');
  const other = await visit(browser, fresh.page, { user, prepare: findVendor });
  await other.page.getByRole('region', { name: home.checklist.title }).waitFor();
  expect(await other.page.getByText(home.checklist.model.title).count()).toBe(0);
  await other.close();
  await fresh.stop();
});

it('are reached from the first steps where no server is found', async () => {
  const { page, close } = await visit(browser, program.page, { prepare: findNothing });
  const steps = page.getByRole('region', { name: home.checklist.title });
  await steps.getByText(home.checklist.model.none).waitFor();
  await steps.getByRole('link', { name: home.checklist.model.action }).click();
  await page.getByText(words.none).waitFor();
  await close();
});

it('say what is wrong with them', async () => {
  const { page, faults, close } = await openModels();
  await page.getByRole('button', { name: words.add }).click();
  await page.getByLabel(words.form.what).selectOption(words.form.other);
  await page.getByLabel(words.form.name).fill('stoa');
  await page.getByLabel(words.form.address).fill('http://127.0.0.1:1/v1');
  await page.getByRole('button', { name: words.form.submit, exact: true }).click();
  await page.getByText(/means something else here/).waitFor();
  // The browser tells of the refused request as well.
  expect(faults.splice(0)).toHaveLength(1);
  await page.getByLabel(words.form.name).fill('Away');
  await page.getByRole('button', { name: words.form.submit, exact: true }).click();
  await page.getByText(/its models are not known: cannot be reached/).waitFor();
  await close();
  await removeAll();
});

it('look well', async () => {
  const models = [
    { name: 'qwen3:8b', window: 40_960, parameters: 8_200_000_000 },
    { name: 'a-model-with-a-long-name-that-someone-has-chosen:latest-q4_K_M' },
  ];
  await server.post('/core/api/connections', { name: 'House', kind: 'openai', baseUrl: vendor.url, models });
  await checkLooks(browser, program.page, '#/admin/models', async (page) => {
    await page.getByText(words.models(2), { exact: true }).click();
    await page.getByText('qwen3:8b', { exact: true }).waitFor();
    await page.getByRole('button', { name: words.add }).click();
    await page.getByLabel(words.form.what).waitFor();
  });
  await removeAll();
});
