/* Leads and forms: the HTML of a form brings leads in, and an administrator sends them on, erases and exports them. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { words } from '$words/admin';
import { words as common } from '$words/common';
import { api } from './api';
import { checkLooks, type Program, settled, startBrowser, startProgram, visit } from './harness';

let program: Program;
let browser: Browser;
let crm: Server;
let server: ReturnType<typeof api>;
/** What the CRM answers. */
let answer = 400;
beforeAll(async () => {
  crm = createServer((incoming, outgoing) => {
    incoming
      .resume()
      .on('end', () => outgoing.writeHead(answer, { 'Content-Type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((done) => crm.listen(0, '127.0.0.1', done));
  const CRM_URL = `http://127.0.0.1:${(crm.address() as AddressInfo).port}/`;
  [program, browser] = await Promise.all([
    startProgram({ CRM_URL, LEADS_PER_MINUTE: '100000' }),
    startBrowser(),
  ]);
  server = api(program);
});
afterAll(async () => {
  await browser.close();
  await program.stop();
  crm.close();
});

const text = words.leads;
const list = (page: Page) => page.getByRole('list', { name: text.list });
const send = (lead: Record<string, string>) =>
  fetch(`${program.gateway}/kv/api/leads`, { method: 'POST', body: JSON.stringify(lead) });
const statusOf = async (email: string) =>
  (await (await server.call(`/kv/api/leads?email=${encodeURIComponent(email)}`)).json())[0]?.status;

describe('a form', () => {
  it('has HTML that works when it is pasted into a site', async () => {
    const { page, context, close } = await visit(browser, program.page, { hash: '#/admin/forms' });
    const html = await page.getByRole('region', { name: words.forms.html('default') }).innerText();
    await page.getByRole('button', { name: words.forms.copy }).click();
    await page.getByText(common.copied).first().waitFor();
    const site = await context.newPage();
    // A page of the same host may post to the form.
    await site.route('**/site', (route) =>
      route.fulfill({ contentType: 'text/html', body: `<!doctype html>${html}` }),
    );
    await site.goto(`${program.gateway}/site`);
    await site.getByLabel('Name').fill('Ada Lovelace');
    await site.getByLabel('Email').fill('ada@example.org');
    await site.getByLabel('Message').fill('Please call me.');
    await site.getByRole('button', { name: words.forms.send }).click();
    await expect.poll(() => statusOf('ada@example.org')).toBeTruthy();
    await page.goto(`${program.page}#/admin/leads`);
    await list(page).getByText('ada@example.org').waitFor();
    await close();
  });
});

describe('leads', () => {
  it('that failed are sent again, one or all', async () => {
    for (const name of ['one', 'two', 'three']) await send({ email: `${name}@example.org`, name });
    await expect.poll(() => statusOf('three@example.org')).toBe('failed');
    const { page, close } = await visit(browser, program.page, { hash: '#/admin/leads?status=failed' });
    await list(page).getByText('one@example.org').click();
    const pane = page.getByRole('complementary', { name: 'one@example.org' });
    await pane.getByText(text.error, { exact: true }).waitFor();
    answer = 200;
    await pane.getByRole('button', { name: text.retry, exact: true }).click();
    await expect.poll(() => statusOf('one@example.org')).toBe('forwarded');
    expect(await statusOf('two@example.org')).toBe('failed');
    await page.getByRole('button', { name: text.retryAll }).click();
    await page.getByText(/wait to be forwarded again/).waitFor();
    await expect.poll(() => statusOf('three@example.org')).toBe('forwarded');
    await close();
  });

  it('are filtered by the address, and erased with undo', async () => {
    await send({ email: 'gone@example.org', name: 'Gone' });
    const { page, close } = await visit(browser, program.page, {
      hash: '#/admin/leads?email=gone@example.org',
    });
    const found = list(page).getByRole('listitem');
    await expect.poll(() => found.count()).toBe(1);
    const erase = async () => {
      await found.first().getByRole('link').click();
      await page.getByRole('button', { name: text.erase, exact: true }).click();
      await found.first().waitFor({ state: 'detached' });
    };
    await erase();
    await page.getByRole('button', { name: common.undo }).click();
    await found.first().waitFor();
    await erase();
    await page.goto('about:blank');
    await expect.poll(() => statusOf('gone@example.org')).toBeUndefined();
    await page.goto(`${program.page}#/admin/leads`);
    await page.getByLabel(text.status).selectOption('erased');
    await expect.poll(() => new URL(page.url()).hash).toBe('#/admin/leads?status=erased');
    await found.first().getByText(text.noEmail).waitFor();
    await page.getByLabel(text.email).fill('nobody@example.org');
    await page.getByRole('link', { name: text.clear }).click();
    await list(page).getByText('ada@example.org').waitFor();
    await close();
  });

  it('are exported as CSV', async () => {
    const { page, close } = await visit(browser, program.page, {
      hash: '#/admin/leads?email=ada@example.org',
    });
    await list(page).getByText('ada@example.org').waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: text.export }).click(),
    ]);
    expect(file.suggestedFilename()).toBe('leads.csv');
    const csv = readFileSync(await file.path(), 'utf8');
    expect(csv.trim().split('\r\n')).toHaveLength(2);
    expect(csv).toContain('Ada Lovelace');
    await close();
  });

  it('are shown as text, whatever strangers send', async () => {
    const hostile =
      '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>[x](javascript:alert(1))';
    await send({ email: 'evil@example.org', name: hostile, message: `${hostile}\n# Not a heading` });
    const { page, close } = await visit(browser, program.page, {
      hash: '#/admin/leads?email=evil@example.org',
    });
    await list(page).getByText('evil@example.org').click();
    await page.getByRole('complementary').getByText('# Not a heading').waitFor();
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false);
    expect(await page.locator('main img, main script, main a[href^="javascript"]').count()).toBe(0);
    await close();
  });

  it('scroll by the thousand, and Back returns to the place', async () => {
    for (let n = 0; n < 30; n++) {
      await Promise.all(Array.from({ length: 20 }, (_, i) => send({ email: `p${n * 20 + i}@example.org` })));
    }
    const { page, close } = await visit(browser, program.page, { hash: '#/admin/leads' });
    await list(page).getByRole('listitem').first().waitFor();
    expect(await list(page).getByRole('listitem').count()).toBeLessThan(60);
    const scroll = () => list(page).evaluate((element) => element.parentElement!.scrollTop);
    await expect
      .poll(async () => {
        await list(page).evaluate((element) => (element.parentElement!.scrollTop = element.scrollHeight));
        return list(page).evaluate((element) => element.clientHeight);
      })
      .toBeGreaterThan(600 * 50);
    await list(page).evaluate((element) => (element.parentElement!.scrollTop = 5000));
    await expect.poll(scroll).toBe(5000);
    await list(page).getByRole('link').nth(12).click();
    await page.getByRole('complementary').waitFor();
    expect(await scroll()).toBe(5000);
    await page.goBack();
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    expect(await scroll()).toBe(5000);
    await close();
  });
});

it('is accessible in both themes and widths', async () => {
  const [{ id }] = await (await server.call('/kv/api/leads?email=evil@example.org')).json();
  await checkLooks(
    browser,
    program.page,
    ['#/admin/forms', `#/admin/leads?lead=${id}`, '#/admin/leads'],
    settled,
  );
});
