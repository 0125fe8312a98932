/* Administration of what is no user and no lead: tokens, services and models. */
import { describe, expect, it } from 'vitest';
import { words } from '$words/admin';
import { checkLooks, settled, visit } from './harness';
import { browser, program, server } from './program';

describe('tokens', () => {
  it('are made for a tool, shown once, and work', async () => {
    const { page, close } = await visit(browser, program.page, { hash: '#/admin/tokens?route=KV' });
    const shown = page.getByRole('region', { name: words.tokens.token, exact: true });
    const make = async () => {
      await page.getByRole('button', { name: words.tokens.make }).click();
      await page.getByText(words.tokens.once).waitFor();
      return (await shown.last().innerText()).trim();
    };
    const read = (path: string, token: string, init: RequestInit = {}) =>
      fetch(program.gateway + path, { ...init, headers: { Authorization: `Bearer ${token}` } });
    const guest = await make();
    expect((await read('/kv/api/portal/updates', guest)).status).toBe(200);
    expect((await read('/build/api/projects', guest)).status).toBe(403);
    await page.reload();
    await page.getByRole('button', { name: words.tokens.make }).waitFor();
    expect(await page.content()).not.toContain(guest);

    await page.getByRole('radio', { name: words.tokens.kinds.admin }).check();
    const admin = await make();
    const body = JSON.stringify({ title: 'By a tool' });
    expect((await read('/kv/api/portal/updates', admin, { method: 'POST', body })).status).toBe(201);
    await close();
  });
});

describe('leads without a CRM', () => {
  it('are said to wait, and nothing offers to retry what has not failed', async () => {
    const lead = { method: 'POST', body: JSON.stringify({ email: 'waits@example.org' }) };
    expect((await fetch(`${program.gateway}/kv/api/leads`, lead)).status).toBe(202);
    const { page, close } = await visit(browser, program.page, { hash: '#/admin/leads' });
    await page.getByText(words.leads.noCrm).waitFor();
    await page.getByText(words.leads.queuedNoCrm).waitFor();
    expect(await page.getByRole('button', { name: words.leads.retryAll }).count()).toBe(0);
    await close();
  });
});

describe('services and models', () => {
  it('are shown with their figures', async () => {
    const { page, close } = await visit(browser, program.page, { hash: '#/admin/services' });
    for (const name of ['gateway', 'knowledge', 'portal', 'supervisor', 'leads']) {
      await page
        .getByRole('region', { name: words.services.names[name]! })
        .getByText(words.services.states.ok!)
        .waitFor();
    }
    await page.getByRole('heading', { name: words.services.processes }).waitFor();
    await page.getByText(/in memory/).waitFor();
    await close();
  });

  it('draw an hour as small charts that can be read aloud', async () => {
    const zero = Array.from({ length: 60 }, () => 0);
    const service = (name: string) => ({
      name,
      status: 'degraded',
      requests: zero.map((_, n) => n),
      errors: zero.map((_, n) => (n === 59 ? 3 : 0)),
      p50Ms: zero.map((_, n) => (n ? 4 : null)),
      p99Ms: zero.map((_, n) => (n ? 40 : null)),
    });
    const metrics = {
      from: Date.now() - 3_600_000,
      to: Date.now(),
      step: 60_000,
      services: [service('gateway')],
      counts: { updates: 1 },
      processes: [],
    };
    const { page, close } = await visit(browser, program.page);
    await page.route('**/api/portal/metrics', (route) => route.fulfill({ json: metrics }));
    await page.goto(`${program.page}#/admin/services`);
    const name = words.services.names.gateway!;
    const chart = page.getByRole('img', { name: words.services.chartRequests(name, '1,770', '3', '59') });
    await chart.waitFor();
    expect(await chart.locator('title').nth(59).textContent()).toContain('59');
    await page.getByRole('img', { name: words.services.chartLatency(name, '4 ms', '40 ms') }).waitFor();
    await page.getByText(words.services.states.degraded!).waitFor();
    await close();
  });

  it('name the command that fetches missing models', async () => {
    const { page, close } = await visit(browser, program.page, { hash: '#/admin/models' });
    const { models, pull } = await (await server.call('/core/api/models')).json();
    const missing = models.some(({ present }: { present: boolean }) => !present);
    await page
      .getByText(missing ? words.models.pull : words.models.complete)
      .first()
      .waitFor();
    for (const { file } of models) await page.getByText(file).waitFor();
    await page.route('**/core/api/models', (route) =>
      route.fulfill({
        json: { models: [{ ...models[0], present: false, size: null }], providers: [], pull },
      }),
    );
    await page.reload();
    await page.getByRole('region', { name: words.models.pull }).getByText(pull).waitFor();
    await page.getByText(words.models.missing, { exact: true }).waitFor();
    await close();
  });
});

it('is accessible in both themes and widths', async () => {
  await checkLooks(browser, program.page, ['#/admin/tokens', '#/admin/services', '#/admin/models'], settled);
});
