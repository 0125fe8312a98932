/*
 * Starts the real program with the built page, and Chromium. Every page that a test opens fails it on a console error, a
 * page error, or a request to another origin.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { expect } from 'vitest';

export const ADMIN = { username: 'admin', password: 'a password for tests' };
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export type Program = {
  /** The page's address, through the gateway. */
  page: string;
  gateway: string;
  stop: () => Promise<void>;
};

/** Starts `stoa serve` on free ports with an empty data folder. */
export async function startProgram(settings: Record<string, string> = {}): Promise<Program> {
  const binary = resolve(
    process.env.STOA_BIN ?? join(process.env.CARGO_TARGET_DIR ?? '../target', 'debug/stoa'),
  );
  const data = mkdtempSync(join(tmpdir(), 'stoa-page-'));
  const listen = Object.fromEntries(
    ['GATEWAY', 'KNOWLEDGE', 'SUPERVISOR', 'PORTAL', 'LEADS', 'OPS'].map((name) => [
      `${name}_LISTEN`,
      '127.0.0.1:0',
    ]),
  );
  const env = { ...process.env, ...listen, STOA_DATA_DIR: data, ADMIN_PASSWORD: ADMIN.password, ...settings };
  const child = spawn(binary, ['serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (output += bytes));
  const gateway = `http://${await address(join(data, 'listen.json'), child, () => output)}`;
  const stop = async () => {
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    await ended;
    rmSync(data, { recursive: true, force: true });
  };
  return { page: `${gateway}/kv/`, gateway, stop };
}

async function address(file: string, child: ChildProcess, output: () => string): Promise<string> {
  for (let tries = 0; tries < 1200; tries++) {
    if (child.exitCode !== null) throw new Error(`stoa has ended:\n${output()}`);
    if (existsSync(file)) {
      const { gateway } = JSON.parse(readFileSync(file, 'utf8'));
      const ready = await fetch(`http://${gateway}/core/readyz`).catch(() => null);
      if (ready?.ok) return gateway;
    }
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error(`stoa does not start:\n${output()}`);
}

export async function startBrowser(): Promise<Browser> {
  const executablePath =
    process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find(existsSync);
  // The graph needs WebGL, which is emulated. The page is composed without it: that would double the time of the tests.
  const args = [
    '--no-sandbox',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--disable-gpu-compositing',
  ];
  return chromium.launch({ executablePath, args });
}

export type Visit = { page: Page; context: BrowserContext; faults: string[]; close: () => Promise<void> };

type VisitOptions = BrowserContextOptions & {
  /** Whether the user is signed in already. */
  signIn?: boolean;
  /** The user who is signed in. All visits of the administrator share a session: a test that ends it needs its own. */
  user?: typeof ADMIN;
  hash?: string;
  /** The faults that the test causes. */
  allow?: RegExp;
  /** What is done to the empty page, before it loads anything. */
  prepare?: (page: Page) => Promise<unknown>;
};

/** Opens the page in a browser of its own, and notes what must not happen. `close` fails on it. */
export async function visit(browser: Browser, address: string, options: VisitOptions = {}): Promise<Visit> {
  const { signIn = true, user = ADMIN, hash = '#/', allow, prepare, ...rest } = options;
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...rest });
  const page = await context.newPage();
  const faults: string[] = [];
  const note = (fault: string) => !allow?.test(fault) && faults.push(fault);
  page.on(
    'console',
    (message) => message.type() === 'error' && note(`console: ${message.text()} ${message.location().url}`),
  );
  page.on('pageerror', (error) => note(`page: ${error.message}`));
  const origin = new URL(address).origin;
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(data|blob|about):/.test(url)) note(`request: ${url}`);
  });
  if (signIn && user === ADMIN) await shareSession(context, address);
  else if (signIn) await session(context, address, user);
  await prepare?.(page);
  await page.goto(address + hash);
  if (signIn) await page.waitForSelector('main#main');
  const close = async () => {
    await context.close();
    expect(faults).toEqual([]);
  };
  return { page, context, faults, close };
}

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>;
/** The cookies of the administrator, by the address of the page. */
const administrators = new Map<string, Cookies>();

/** Signs the administrator in, with the session of the first visit of that address. */
async function shareSession(context: BrowserContext, address: string): Promise<void> {
  const cookies = administrators.get(address);
  if (cookies) return context.addCookies(cookies);
  await session(context, address);
  administrators.set(address, await context.cookies());
}

/** Signs a user in without the form. */
export async function session(context: BrowserContext, address: string, user = ADMIN): Promise<void> {
  const password = createHash('sha256')
    .update(user.username + user.password)
    .digest('hex');
  const login = new URL('../core/api/auth/login', address).href;
  const response = await context.request.post(login, { data: { username: user.username, password } });
  expect(response.status()).toBe(200);
}

/** Returns what axe-core finds serious or critical on the page, as short lines. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const found = await page.evaluate(() =>
    // @ts-expect-error axe is defined by the source above.
    window.axe.run(document, { resultTypes: ['violations'] }),
  );
  return found.violations
    .filter(({ impact }: { impact: string }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }: { id: string; nodes: { html: string }[] }) => `${id}: ${nodes[0]?.html.slice(0, 160)}`,
    );
}

type Ready = (page: Page) => Promise<unknown>;

/**
 * Checks screens in both themes and both widths: nothing serious for axe-core, no sideways scroll. Light and wide, then dark
 * and narrow: what is laid out does not depend on colours, and contrasts not on the width.
 */
export async function checkLooks(
  browser: Browser,
  address: string,
  hashes: string | string[],
  ready: Ready,
): Promise<void> {
  const looks = [hashes].flat().map((hash): [string, Ready] => [hash, ready]);
  await checkEachLook(browser, address, looks, 390);
}

/**
 * Checks screens as `checkLooks`, each with what it waits for. Each theme and each width is loaded anew once, as a visitor
 * with it loads the page.
 */
export async function checkEachLook(
  browser: Browser,
  address: string,
  looks: [hash: string, ready: Ready][],
  narrow: number,
): Promise<void> {
  const [first] = looks[0]!;
  const size = (width: number) => ({ width, height: 844 });
  const { page, close } = await visit(browser, address, {
    hash: first,
    viewport: size(1440),
    colorScheme: 'light',
  });
  for (const [colorScheme, width] of [
    ['light', 1440],
    ['dark', narrow],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    if (page.viewportSize()!.width !== width) {
      await page.setViewportSize(size(width));
      await page.goto(address + first);
      await page.reload();
      await page.waitForSelector('main#main');
    }
    for (const [hash, ready] of looks) {
      if (looks.length > 1) await page.goto(address + hash);
      await ready(page);
      await page.evaluate(transitionsEnded);
      expect(await accessibilityFaults(page), `${hash} ${colorScheme} ${width}`).toEqual([]);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow, `sideways scroll of ${hash} at ${width}`).toBeLessThanOrEqual(0);
    }
  }
  await close();
}

/** Runs in the page: waits until no colour is on its way to another. */
async function transitionsEnded(): Promise<void> {
  const transitions = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
  await Promise.allSettled(transitions.map(({ finished }) => finished));
}

/** Waits until a screen is there and loads nothing. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () => document.querySelector('main h1') && !document.querySelector('main .loading'),
  );
}
