/* The program with a vendor that writes what the tests want, and the browser; for the tests of conversations. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { words } from '$words/chat';
import { api, type TestUser } from './api';
import { type Program, startBrowser, startProgram, type Visit, visit } from './harness';
import { startVendor, type Vendor } from './vendor';

export let program: Program;
export let browser: Browser;
export let vendor: Vendor;
/** Questions that a user may ask in a minute. */
export const QUESTIONS = 60;

/** Starts the three, and adds a document. The vendor answers every question with `text`, whatever the kind of answer. */
export function startForChat(): void {
  beforeAll(async () => {
    vendor = await startVendor();
    const settings = {
      CHAT_PROVIDER: 'vendor-a',
      VENDOR_A_API_KEY: 'key',
      VENDOR_A_BASE_URL: vendor.url,
      VENDOR_A_MODEL: 'model-for-tests',
      CHAT_REQUESTS_PER_MINUTE: String(QUESTIONS),
    };
    [program, browser] = await Promise.all([startProgram(settings), startBrowser()]);
    await api(program).ingest(
      'pump.md',
      '# Pump manual\n\nThe pump P-204 circulates coolant in the north hall.\n\n## Maintenance\n\nThe seal of the pump is replaced every 500 hours by Solberg Industries.',
    );
  });
  afterAll(async () => {
    await browser.close();
    await program.stop();
    await vendor.stop();
  });
}

/** Makes the vendor answer with a text, word by word. */
export function vendorSays(text: string | null, pause = 0): void {
  vendor.texts = new Proxy({}, { get: () => text });
  vendor.pause = pause;
}

export const open = (options = {}) => visit(browser, program.page, { hash: '#/chat', ...options });
export const composer = (page: Page) => page.getByLabel(words.composer.label);
export const answers = (page: Page) => page.getByRole('article', { name: words.messages.answer });
export const questions = (page: Page) => page.getByRole('article', { name: words.messages.you });

export async function ask(page: Page, question: string): Promise<void> {
  await composer(page).fill(question);
  await composer(page).press('Enter');
}

/** Waits until the last answer has ended, and returns its text as it is shown. */
export async function answered(page: Page): Promise<string> {
  const button = page.getByRole('button', { name: words.composer.send, exact: true });
  await button.waitFor();
  await answers(page).last().locator('footer').waitFor();
  return answers(page).last().locator('.markdown').textContent().then(String);
}

/** Opens the page as a user who has nothing yet. */
export async function openAs(name: string, options = {}): Promise<Visit & { user: TestUser }> {
  const user = await api(program).makeUser(name);
  return { ...(await open({ user, ...options })), user };
}

/** Asks a question of its own conversation and waits for the answer. Returns the conversation's id. */
export async function converse(page: Page, question: string): Promise<string> {
  await ask(page, question);
  await answered(page);
  return new URL(page.url()).hash.split(/[/?]/)[2]!;
}
