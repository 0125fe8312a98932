/* Where the page is: at /kv, at /kv/, behind an outer prefix, and after an upgrade. */
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { words as home } from '$words/home';
import { words } from '$words/shell';
import { words as signin } from '$words/signin';
import { type Program, startBrowser, startProgram, visit } from './harness';
import { openAll, signIn } from './page';

let program: Program;
let browser: Browser;
beforeAll(async () => {
  [program, browser] = await Promise.all([startProgram({ TRUSTED_PROXIES: '127.0.0.1' }), startBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await program.stop();
});

describe('addresses', () => {
  it('works at /kv and /kv/', async () => {
    const { page, close } = await visit(browser, program.page.replace(/\/$/, ''), {
      signIn: false,
      hash: '?from=mail',
    });
    await page.getByRole('heading', { name: signin.title }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/kv/');
    await signIn(page);
    await page.waitForSelector('main#main');
    await close();
  });

  it('works behind an outer prefix', async () => {
    const proxy = await startProxy(new URL(program.gateway));
    const outer = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/outer/kv`;
    try {
      const { page, close } = await visit(browser, outer, { signIn: false, hash: '' });
      const elsewhere: string[] = [];
      page.on('request', (request) => {
        if (!new URL(request.url()).pathname.startsWith('/outer/')) elsewhere.push(request.url());
      });
      await page.getByRole('heading', { name: signin.title }).waitFor();
      expect(new URL(page.url()).pathname).toBe('/outer/kv/');
      await signIn(page);
      await page.waitForSelector('main#main');
      await openAll(page, `${outer}/`);
      await page.goto(`${outer}/#/`);
      const tool = page.getByRole('link', { name: 'Knowledge', exact: true });
      expect(await tool.getAttribute('href')).toMatch(/\/outer\//);
      expect(elsewhere).toEqual([]);
      await close();
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  it('offers a reload if a part of the page is gone, and drafts survive it', async () => {
    const { page, close } = await visit(browser, program.page, {
      hash: '#/?new=goal',
      allow: /404|Admin|dynamically/,
    });
    await page.getByLabel(home.fields.title!, { exact: true }).fill('A goal to keep');
    const missing = /assets\/Admin.*\.js/;
    await page.route(missing, (route) => route.fulfill({ status: 404, body: 'gone' }));
    await page.goto(`${program.page}#/admin`);
    await page.getByText(words.newVersion).waitFor();
    await page.unroute(missing);
    await page.getByRole('button', { name: words.reload }).click();
    await page.getByRole('heading', { name: words.screens.admin }).waitFor();
    await page.goto(`${program.page}#/?new=goal`);
    expect(await page.getByLabel(home.fields.title!, { exact: true }).inputValue()).toBe('A goal to keep');
    await close();
  });
});

/** Serves the gateway below `/outer/`, as a reverse proxy of another site does. */
function startProxy(gateway: URL): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    const path = /^\/outer(\/.*)$/.exec(incoming.url ?? '')?.[1];
    if (!path) return void outgoing.writeHead(404).end();
    const headers = {
      ...incoming.headers,
      'x-forwarded-prefix': '/outer',
      'x-forwarded-host': incoming.headers.host,
    };
    const target = { host: gateway.hostname, port: gateway.port, path, method: incoming.method, headers };
    const passed = forward(target, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)));
}
