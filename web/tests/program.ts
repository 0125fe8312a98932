/* A program with its default settings and a browser, for all tests of the file that imports them. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { api } from './api';
import { type Program, startBrowser, startProgram } from './harness';

export let program: Program;
export let browser: Browser;
/** The services of the program, as its administrator calls them. */
export let server: ReturnType<typeof api>;

beforeAll(async () => {
  [program, browser] = await Promise.all([startProgram(), startBrowser()]);
  server = api(program);
});
afterAll(async () => {
  await browser.close();
  await program.stop();
});
