/* Connections to models: added, tried, chosen and removed by an administrator. */
import { words as common } from '$words/common';
import { words } from '$words/models';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { visit } from './harness';
import { browser, program, server } from './program';
import { startVendor, type Vendor } from './vendor';

let vendor: Vendor;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.stop());

it('are added with an address, answer at once, and are removed again', async () => {
  const { page, close } = await visit(browser, program.page, { hash: '#/admin/models' });
  await page.getByText(words.none).waitFor();
  await page.getByRole('button', { name: words.add }).click();
  await page.getByLabel(words.form.what).selectOption(words.form.other);
  await page.getByLabel(words.form.name).fill('House');
  await page.getByLabel(words.form.address).fill(vendor.url);
  await page.getByRole('button', { name: words.form.submit, exact: true }).click();
  await page.getByText(words.form.added('House', 2)).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: common.close }).last().click();

  await page.getByRole('button', { name: words.test, exact: true }).click();
  await page.getByText(/writer wrote “Text of/).waitFor();
  // The first connection answers, until another model is chosen.
  const chosen = async () => (await (await server.call('/core/api/models/defaults')).json()).chat?.model;
  const questions = page.getByLabel(words.answers.chat);
  await expect.poll(() => questions.locator('option:checked').innerText()).toBe('House: writer');
  await questions.selectOption('House: other');
  await expect.poll(chosen).toBe('other');
  const { providers } = await (await server.call('/core/api/providers')).json();
  expect(providers.map(({ name }: { name: string }) => name)).toContain('House');

  await page.getByRole('button', { name: words.actions('House') }).click();
  await page.getByRole('menuitem', { name: words.remove }).click();
  await page.getByText(words.removed('House')).waitFor();
  await expect.poll(chosen, { timeout: 30_000 }).toBeUndefined();
  await close();
});

it('say what is wrong with them', async () => {
  const { page, faults, close } = await visit(browser, program.page, { hash: '#/admin/models' });
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
});
