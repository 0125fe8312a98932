/* The program and the browser that the tests of the documents screen share. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { words } from '$words/documents';
import { api } from './api';
import { type Program, startBrowser, startProgram, visit } from './harness';

export let program: Program;
export let browser: Browser;

/** Starts both for the tests of a file, each of which begins without documents. */
export function startForDocuments(): void {
  beforeAll(async () => {
    [program, browser] = await Promise.all([startProgram(), startBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await program.stop();
  });
  beforeEach(async () => {
    const { documents } = await (await api(program).call('/core/api/documents')).json();
    for (const { id } of documents)
      await api(program).call(`/core/api/documents/${id}`, { method: 'DELETE' });
  });
}

export const open = (options = {}) => visit(browser, program.page, { hash: '#/documents', ...options });
const list = (page: Page) => page.getByRole('list', { name: words.title });
export const row = (page: Page, title: string) => list(page).getByRole('listitem').filter({ hasText: title });
export const titles = (page: Page) => list(page).getByRole('link').allInnerTexts();
