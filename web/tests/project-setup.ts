/* The program with a small workflow whose agents ask the tests' vendor: an analyst, a manager who needs approval, a
   developer. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { words } from '$words/projects';
import { api } from './api';
import { checkEachLook, type Program, startBrowser, startProgram, visit } from './harness';
import { startVendor, type Vendor } from './vendor';

const agent = (name: string, more = '') =>
  `[[phase.agent]]\nname = "${name}"\nprompt = "${name}.md"\nretries = 0\n${more}\n`;
const WORKFLOW = [
  '[[phase]]\nname = "prd"\n',
  agent('analyst'),
  agent('manager', 'inputs = ["analyst"]\napproval = true'),
  '[[phase]]\nname = "build"\n',
  agent('developer', 'inputs = ["manager"]\noutput = "code"'),
  agent('modeller', 'inputs = ["manager"]\noutput = "json"'),
].join('\n');

export let program: Program;
export let browser: Browser;
export let vendor: Vendor;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'stoa-workflow-'));
  writeFileSync(join(folder, 'workflow.toml'), WORKFLOW);
  for (const name of ['analyst', 'manager', 'developer', 'modeller'])
    writeFileSync(join(folder, `${name}.md`), `${name} is your role.`);
  vendor = await startVendor();
  const settings = {
    WORKFLOW: join(folder, 'workflow.toml'),
    AGENT_PROVIDER: 'vendor-a',
    VENDOR_A_API_KEY: 'key',
    VENDOR_A_BASE_URL: vendor.url,
  };
  [program, browser] = await Promise.all([startProgram(settings), startBrowser()]);
});
afterAll(async () => {
  await browser.close();
  await program.stop();
  await vendor.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  vendor.texts = {};
  vendor.pause = 0;
});

export const open = (hash: string, options = {}, address = program.page) =>
  visit(browser, address, { hash, ...options });
export const makeProject = async (name = 'Bees') => (await api(program).makeProject(name)).id;
export const projectPath = (id: string, rest = '') => `#/projects/${id}${rest}`;
/** `w1 w2 w3 …`: a text of which every loss and every doubling shows. */
export const numbered = (n: number) => Array.from({ length: n }, (_, index) => `w${index + 1}`).join(' ');

export const agentRow = (page: Page, name: string) => page.locator(`[data-agent="${name}"]`);
export const written = (page: Page) => page.locator('.markdown').innerText({ timeout: 20_000 });

/** Runs the first phase until its artifact waits. */
export async function runUntilWaiting(page: Page): Promise<void> {
  await page.getByRole('button', { name: words.run.start('Requirements') }).click();
  await page.getByText(words.run.waits(1)).waitFor();
}

export async function openApproval(page: Page): Promise<void> {
  await page.getByRole('link', { name: words.run.review }).click();
  await page.getByRole('button', { name: words.inbox.approve }).waitFor();
}

/** Checks screens as `checkLooks`, on a narrower phone: an address and what it shows. */
export const checkAllLooks = (looks: [hash: string, shows: string][]): Promise<void> =>
  checkEachLook(
    browser,
    program.page,
    looks.map(([hash, shows]) => [hash, (page) => page.waitForSelector(shows)]),
    360,
  );
