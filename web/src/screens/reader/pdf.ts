import { Failure, failure } from '$lib/api/failure';
import { words } from '$words/common';
import { words as reader } from '$words/reader';
import { getDocument, GlobalWorkerOptions, type PDFDocumentProxy, type PDFPageProxy } from 'pdfjs-dist';
import worker from 'pdfjs-dist/build/pdf.worker.min.mjs?url';
import { bodyOf, locate, type Quad, type TextRun } from './locate';

/* pdf.js, which is loaded when the first PDF is opened. */

GlobalWorkerOptions.workerSrc = worker;

export type { PDFDocumentProxy as Pdf, PDFPageProxy as PdfPage };

/** Opens a PDF. Its bytes are read as its pages are needed. */
export function openPdf(address: string): { pdf: Promise<PDFDocumentProxy>; close: () => void } {
  const loading = getDocument({
    url: address,
    disableAutoFetch: true,
    // A PDF comes from a user: nothing in it is run. The page's policy would refuse it as well.
    isEvalSupported: false,
    useWasm: false,
    enableXfa: false,
    verbosity: 0,
  });
  return { pdf: loading.promise, close: () => void loading.destroy() };
}

/** Returns where a text is on a page; none if that is not certain. */
export async function locateOn(page: PDFPageProxy, text: string): Promise<Quad[]> {
  return locate(await runsOf(page), text);
}

/** Returns where most text of a page begins and how high it is, in the page's units; none of a page without text. */
export async function textOf(page: PDFPageProxy): Promise<{ left: number; height: number } | null> {
  return bodyOf(await runsOf(page));
}

async function runsOf(page: PDFPageProxy): Promise<TextRun[]> {
  const { items } = await page.getTextContent();
  return items.filter((item): item is typeof item & TextRun => 'str' in item);
}

/** Returns why a PDF cannot be shown, in words. */
export function reasonOf(error: unknown): Failure {
  const { name, status } = error as { name?: string; status?: number };
  if (name === 'ResponseException')
    return new Failure(status ? words.status(status) : words.offline, status ?? 0);
  if (name === 'PasswordException') return new Failure(reader.password, 0);
  if (name === 'InvalidPDFException') return new Failure(reader.damaged, 0);
  return failure(error);
}
