/* The use of models: who used how much, what it costs, and what may be used on a day. */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { words } from '$words/usage';
import { api } from './api';
import { answered, ask, browser, converse, open, openAs, program, startForChat, vendorSays } from './chat';
import { checkLooks } from './harness';

startForChat();

const panel = (page: Page, name: string) => page.getByRole('form', { name });
const sums = (page: Page) => page.getByRole('region', { name: words.table });
const row = (page: Page, name: string | RegExp) => sums(page).getByRole('row', { name });

async function setBudgets(budgets: object[]): Promise<void> {
  const body = JSON.stringify({ budgets });
  await api(program).call('/core/api/usage/budgets', { method: 'PUT', body });
}

it('is shown by model, user and day, with prices from now on', async () => {
  const { page, close } = await open({ hash: '#/admin/usage' });
  await page.getByText(words.none).waitFor();
  const prices = panel(page, words.prices.title);
  await prices.getByLabel(words.prices.currency).fill('EUR');
  await prices.getByRole('button', { name: words.prices.add }).click();
  await prices.getByLabel(words.prices.model, { exact: true }).fill('model-for-*');
  await prices.getByLabel(words.prices.input).fill('1000');
  await prices.getByLabel(words.prices.output).fill('2000');
  await prices.getByRole('button', { name: words.prices.save }).click();
  await prices.getByText(words.saved).waitFor();

  vendorSays('It circulates coolant [1].');
  await page.goto(`${program.page}#/chat`);
  await converse(page, 'What does the pump circulate?');
  await page.goto(`${program.page}#/admin/usage`);
  // 11 tokens of input and 7 of output, as the vendor counts them, in each call.
  const model = row(page, /^model-for-tests/);
  await model.waitFor();
  await expect.poll(() => model.getByRole('cell').last().innerText()).toMatch(/^€0\.0[2-9]/);
  await page.getByRole('img', { name: /^Tokens on each of 30 days/ }).waitFor();
  await page.getByLabel(words.by).selectOption(words.byGrouping.user);
  await row(page, /^admin/i).waitFor();
  await page.getByLabel(words.period).selectOption(words.days(7));
  expect(new URL(page.url()).hash).toBe('#/admin/usage?by=user&days=7');
  await page.getByRole('img', { name: /^Tokens on each of 7 days/ }).waitFor();
  await page.reload();
  await row(page, /^admin/i).waitFor();
  await page.getByLabel(words.by).selectOption(words.byGrouping.purpose);
  await row(page, new RegExp(`^${words.purposes.chat}`)).waitFor();

  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: words.csv }).click();
  const file = await (await download).createReadStream();
  let csv = '';
  for await (const bytes of file) csv += bytes;
  expect(csv).toContain('model-for-tests');

  await prices.getByRole('button', { name: words.prices.remove('model-for-*') }).click();
  await prices.getByRole('button', { name: words.prices.save }).click();
  await prices.getByText(words.saved).waitFor();
  await close();
});

it('is limited by budgets, and a question too many says so without counting down', async () => {
  const user = await api(program).makeUser('limited');
  const { page, close } = await open({ hash: '#/admin/usage' });
  const budgets = panel(page, words.budgets.title);
  await budgets.getByText(words.budgets.none).waitFor();
  await budgets.getByRole('button', { name: words.budgets.add }).click();
  expect(await budgets.getByLabel(words.budgets.whom).locator('option:checked').innerText()).toBe(
    words.budgets.all,
  );
  await budgets.getByLabel(words.budgets.whom).selectOption('limited');
  await budgets.getByLabel(words.budgets.tokens).fill('20');
  await budgets.getByRole('button', { name: words.budgets.save }).click();
  await budgets.getByText(words.saved).waitFor();
  await budgets.getByText(/^Used today: 0 tokens/).waitFor();
  await close();

  vendorSays('Hello there.');
  const own = await open({ user, allow: /429/, hash: '#/chat?in=nothing' });
  await converse(own.page, 'Hello?');
  await ask(own.page, 'Hello again?');
  // It is refused at the latest when both calls of 18 tokens are counted.
  await own.page.waitForTimeout(500);
  if (!(await own.page.getByRole('alert').count())) {
    await answered(own.page);
    await ask(own.page, 'And again?');
  }
  const alert = own.page.getByRole('alert');
  await alert.getByText(/^Your budget for today is used up/).waitFor();
  expect(await alert.getByText(/Again in/).count()).toBe(0);
  await own.page.goto(`${program.page}#/account`);
  const mine = own.page.getByRole('region', { name: words.mine.title });
  await mine.getByText(/ of 20$/).waitFor();
  expect(await mine.getByRole('progressbar').getAttribute('aria-valuenow')).toBe('100');
  await own.close();
  await setBudgets([]);
});

it('is one’s own business: others see only what is theirs', async () => {
  const { page, close } = await openAs('curious', { hash: '#/account' });
  const mine = page.getByRole('region', { name: words.mine.title });
  await mine.getByText(words.mine.tokens).waitFor();
  expect(await mine.getByRole('progressbar').count()).toBe(0);
  await close();
});

it('looks well', async () => {
  await setBudgets([
    { kind: 'all', tokens: 1_000_000 },
    { kind: 'user', tokens: 50_000, cost: 1.5 },
  ]);
  const prices = [
    { connection: 'vendor-a', model: 'model-for-tests', inputPerMillion: 0.15, outputPerMillion: 0.6 },
  ];
  const body = JSON.stringify({ currency: 'USD', prices });
  await api(program).call('/core/api/usage/prices', { method: 'PUT', body });
  const ready = async (page: Page) => {
    await row(page, /^model-for-tests/).waitFor();
    await panel(page, words.prices.title).getByLabel(words.prices.model, { exact: true }).waitFor();
    await panel(page, words.budgets.title).getByLabel(words.budgets.whom).first().waitFor();
  };
  await checkLooks(browser, program.page, '#/admin/usage', ready);
  await checkLooks(browser, program.page, '#/account', (page) =>
    page.getByRole('region', { name: words.mine.title }).getByRole('progressbar').first().waitFor(),
  );
});
