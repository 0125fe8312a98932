/* Files that tests choose in the page. */
import type { Page } from 'playwright-core';
import { words } from '$words/documents';

export type MadeFile = { name: string; mimeType: string; buffer: Buffer };

export const textFile = (name: string, text: string): MadeFile => ({
  name,
  mimeType: 'text/plain',
  buffer: Buffer.from(text),
});

/** Adds files to the documents that the screen shows. */
export async function addFiles(page: Page, files: MadeFile | MadeFile[]): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: words.add }).click();
  await (await chooser).setFiles(files);
}
