import type { DocumentText, TextPassage } from '$lib/api/types/knowledge';

/*
 * The text of a document, cut into sections for the page. A text has up to 8 MiB: a section is in the page, and laid
 * out, only when it comes near the visible part, so opening a long text is quick.
 */

export type { DocumentText, TextPassage };

export type Piece =
  | { kind: 'text'; text: string; marked: boolean }
  | { kind: 'heading'; text: string; level: number; index: number }
  | { kind: 'page'; number: number };

/** About the length of a section, in characters. */
const LENGTH = 8000;

/** Cuts a text into sections of pieces, with the span between `start` and `end` marked. */
export function sections(document: DocumentText, marked: { start: number; end: number } | null): Piece[][] {
  const { text } = document;
  const cuts = breaks(text);
  const places = [
    ...document.pages.map(({ number, start }) => ({
      at: start,
      order: 0,
      piece: { kind: 'page', number } as Piece,
    })),
    ...document.headings.map(({ level, text, start }, index) => ({
      at: start,
      order: 1,
      piece: { kind: 'heading', level, text, index } as Piece,
    })),
    ...cuts.map((at) => ({ at, order: -1, piece: null })),
  ].sort((a, b) => a.at - b.at || a.order - b.order);

  const result: Piece[][] = [];
  let section: Piece[] = [];
  let done = 0;
  for (const { at, piece } of [...places, { at: text.length, piece: null }]) {
    section.push(...texts(text, done, at, marked));
    done = Math.max(done, at);
    if (piece) section.push(piece);
    else if (section.length > 0) {
      result.push(section);
      section = [];
    }
  }
  return result;
}

/** Returns where sections begin: at an empty line; within a very long block at a line, within a very long line anywhere. */
function breaks(text: string): number[] {
  const found: number[] = [];
  let at = LENGTH;
  while (at < text.length) {
    // Only the next part is searched: a log of one block would be searched to its end for each section.
    const next = text.slice(at, at + LENGTH);
    const gap = ['\n\n', '\n'].find((gap) => next.includes(gap));
    const wanted = gap ? at + next.indexOf(gap) + gap.length : at;
    // A pair of surrogates is one character.
    const place = isLowSurrogate(text.charCodeAt(wanted)) ? wanted + 1 : wanted;
    found.push(place);
    at = place + LENGTH;
  }
  return found;
}

const isLowSurrogate = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff;

/** Returns the text between two places, split where the mark begins and ends. Empty lines at the edges are left out. */
function texts(
  text: string,
  start: number,
  end: number,
  marked: { start: number; end: number } | null,
): Piece[] {
  while (start < end && text[start] === '\n') start++;
  while (end > start && text[end - 1] === '\n') end--;
  if (start >= end) return [];
  const from = Math.max(start, Math.min(end, marked?.start ?? end));
  const to = Math.max(from, Math.min(end, marked?.end ?? end));
  return (
    [
      [start, from, false],
      [from, to, true],
      [to, end, false],
    ] as const
  )
    .filter(([first, last]) => first < last)
    .map(([first, last, marked]) => ({ kind: 'text', text: text.slice(first, last), marked }));
}

/** Returns the parts of a passage that are on each page. */
export function onPages(
  document: DocumentText,
  passage: { start: number; end: number },
): { page: number; text: string }[] {
  return document.pages
    .map(({ number, start }, index) => {
      const from = Math.max(start, passage.start);
      const to = Math.min(document.pages[index + 1]?.start ?? document.text.length, passage.end);
      return { page: number, text: from < to ? document.text.slice(from, to) : '' };
    })
    .filter(({ text }) => text.trim() !== '');
}
