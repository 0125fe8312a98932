/* The program, the documents and the browser that the tests of search and of the reader share. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { words } from '$words/search';
import { api } from './api';
import { type Program, startBrowser, startProgram, visit } from './harness';
import { makePdf } from './pdf';

const HOSTILE =
  '<img src=https://evil.example/x onerror=alert(1)> <script>alert(2)</script> [link](javascript:alert(3))';

export let program: Program;
export let browser: Browser;
/** The ids of a long Markdown document and of a PDF. */
export let manual: string;
export let turbine: string;

/** Starts the program with some documents, and the browser. */
export function startForReader(): void {
  beforeAll(async () => {
    [program, browser] = await Promise.all([startProgram(), startBrowser()]);
    const server = api(program);
    manual = await server.ingest('manual.md', longManual());
    turbine = await sendPdf();
    await server.ingest('hostile.md', `# ${HOSTILE}\n\nThe basilisk is described here: ${HOSTILE}`);
    await server.ingest('عربي.txt', 'المضخة الكبيرة تدور سائل التبريد في القاعة الشمالية.');
  });
  afterAll(async () => {
    await browser.close();
    await program.stop();
  });
}

/** A manual of 40 sections, of which one tells of the quagga. */
function longManual(): string {
  const filler = (i: number) =>
    `Section ${i} explains valve ${i} and how its seals are changed by the crew. `.repeat(14);
  const section = (i: number) =>
    `## Part ${i}\n\n${i === 31 ? 'The quagga pump needs 17 litres of oil. ' : ''}${filler(i)}`;
  return `# Manual\n\n${Array.from({ length: 40 }, (_, i) => section(i)).join('\n\n')}`;
}

/** Six full pages, and two of a few lines, which make one passage. */
async function sendPdf(): Promise<string> {
  const lines = (page: number) =>
    Array.from(
      { length: 24 },
      (_, line) =>
        `Turbine record ${page * 100 + line}: bearing number ${page * 31 + line * 7} was inspected.`,
    );
  const pages = Array.from({ length: 6 }, (_, page) => lines(page + 1));
  pages.push(
    [
      'A giraffe was seen in the yard on Monday morning.',
      'Nobody knew whose it was, so the crew called the zoo.',
    ],
    [
      'It left through the northern gate before noon.',
      'The zoo counted its animals and missed none of them.',
    ],
  );
  pages[3]![10] = 'The okapi bearing was replaced in spring by the second crew.';
  const body = new FormData();
  body.append('file', new Blob([new Uint8Array(makePdf(pages))], { type: 'application/pdf' }), 'turbine.pdf');
  return (await (await api(program).call('/core/api/ingest', { method: 'POST', body })).json()).documentId;
}

export const open = (hash: string, options = {}) => visit(browser, program.page, { hash, ...options });
export const results = (page: Page) => page.getByRole('list', { name: words.list }).getByRole('link');
export const passage = async (query: string): Promise<{ id: string; documentId: string; text: string }> =>
  (await (await api(program).call(`/core/api/search?topK=1&query=${encodeURIComponent(query)}`)).json())
    .results[0];

/** Whether an element is within the visible part of what scrolls. */
export const isVisible = (page: Page, selector: string) =>
  page
    .locator(selector)
    .first()
    .evaluate((element) => {
      const [box, view] = [
        element.getBoundingClientRect(),
        element.closest('.view')!.getBoundingClientRect(),
      ];
      return box.top < view.bottom && box.bottom > view.top;
    });
