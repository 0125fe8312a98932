/*
 * Finds a passage on a page of a PDF. The text of the passage was extracted by another program than the browser's, so
 * spaces, hyphens and ligatures differ, and the order of columns: only letters and digits are compared, piece by piece.
 * If it is not certain where the passage is, nothing is found.
 */

/** A run of text on a page, as pdf.js returns it. */
export type TextRun = { str: string; transform: number[]; width: number; height: number };

/** A quadrilateral on a page, as four points in the page's own units. */
export type Quad = [number, number][];

/** Shorter pieces occur by chance. */
const SHORTEST_PIECE = 12;
/** Shorter ones are only found directly beside a piece. */
const SHORTEST_REST = 3;
/** How much of a passage has to be found, if it is not found as a whole. */
const ENOUGH = 0.8;

type Letters = { text: string; places: { run: number; from: number; to: number }[] };
type Span = { start: number; end: number };

/** Returns where a passage is on a page, line by line; none if that is not certain. */
export function locate(runs: TextRun[], passage: string): Quad[] {
  const page = lettersOf(runs);
  const wanted = letters(passage);
  if (wanted === '') return [];
  const whole = page.text.indexOf(wanted);
  // A word that occurs twice is not the passage; the same passage twice is not certain either.
  if (whole >= 0 && page.text.indexOf(wanted, whole + 1) >= 0) return [];
  if (whole >= 0) return quads(runs, page, [{ start: whole, end: whole + wanted.length }]);
  const { found, covered } = inPieces(page.text, wanted);
  return covered >= ENOUGH * wanted.length ? quads(runs, page, found) : [];
}

/** Returns where the text of a page begins, and the height that most of its letters have; none of a page without text. */
export function bodyOf(runs: TextRun[]): { left: number; height: number } | null {
  const written = runs.filter(({ str, height }) => height > 0 && str.trim() !== '');
  const all = written.reduce((sum, { str }) => sum + str.length, 0);
  let rest = all / 2;
  const byHeight = written.toSorted((one, other) => one.height - other.height);
  const median = byHeight.find(({ str }) => (rest -= str.length) <= 0);
  if (!median) return null;
  return { left: Math.min(...written.map(({ transform }) => transform[4] ?? 0)), height: median.height };
}

function letters(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}

function lettersOf(runs: TextRun[]): Letters {
  const found: Letters = { text: '', places: [] };
  runs.forEach(({ str }, run) => {
    const characters = [...str];
    characters.forEach((character, at) => {
      for (const unit of letters(character).split('')) {
        found.text += unit;
        found.places.push({ run, from: at / characters.length, to: (at + 1) / characters.length });
      }
    });
  });
  return found;
}

/**
 * Finds a passage whose parts stand on the page in another order, as those of columns do: each part is a piece that is
 * on the page only once. Returns the pieces in the page's order, and how many letters of the passage they cover.
 */
function inPieces(page: string, passage: string): { found: Span[]; covered: number } {
  const known = new Map<string, number[]>();
  for (let at = 0; at + SHORTEST_PIECE <= page.length; at++) {
    const start = page.slice(at, at + SHORTEST_PIECE);
    known.set(start, [...(known.get(start) ?? []), at]);
  }
  const found: Span[] = [];
  const rests: string[] = [];
  let [covered, rest] = [0, 0];
  for (let at = 0; at < passage.length;) {
    const places = known.get(passage.slice(at, at + SHORTEST_PIECE)) ?? [];
    const spans = places.map((start) => ({ start, end: start + common(page, start, passage, at) }));
    const longest = Math.max(0, ...spans.map(({ start, end }) => end - start));
    const [piece, ...others] = spans.filter(({ start, end }) => end - start === longest);
    if (piece && others.length === 0) {
      rests.push(passage.slice(rest, at));
      found.push(piece);
      covered += longest;
      rest = at + longest;
    }
    at += Math.max(1, longest);
  }
  rests.push(passage.slice(rest));
  for (const text of rests) {
    const span = text.length < SHORTEST_REST ? null : beside(page, text, found);
    if (span) found.push(span);
    covered += span ? text.length : 0;
  }
  return { found: joined(found), covered };
}

/** Returns how many letters two texts have in common from these places on. */
function common(a: string, from: number, b: string, at: number): number {
  let length = 0;
  while (from + length < a.length && a[from + length] === b[at + length] && at + length < b.length) length++;
  return length;
}

/** Returns the only place of a text that is directly before or after one of the spans. */
function beside(page: string, text: string, spans: Span[]): Span | null {
  const starts = spans
    .flatMap(({ start, end }) => [start - text.length, end])
    .filter((at) => at >= 0 && page.startsWith(text, at));
  const [start, ...others] = new Set(starts);
  return start === undefined || others.length > 0 ? null : { start, end: start + text.length };
}

/** Returns spans in order, with those that touch as one. */
function joined(spans: Span[]): Span[] {
  const result: Span[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else result.push({ start, end });
  }
  return result;
}

/** Returns the places of matches, with the spaces between their first and their last letters. */
function quads(runs: TextRun[], page: Letters, matches: Span[]): Quad[] {
  return matches.flatMap(({ start, end }) => {
    const [first, last] = [page.places[start]!, page.places[end - 1]!];
    return runs
      .slice(first.run, last.run + 1)
      .map((run, index) => {
        const at = first.run + index;
        return {
          run,
          from: at === first.run ? first.from : 0,
          to: at === last.run ? endOf(run, last.to) : 1,
        };
      })
      .filter(({ run, from, to }) => run.width * (to - from) > 0)
      .map(({ run, from, to }) => quad(run, from, to));
  });
}

/** Includes the punctuation that ends a run. */
function endOf({ str }: TextRun, to: number): number {
  const characters = [...str];
  return letters(characters.slice(Math.round(to * characters.length)).join('')) === '' ? 1 : to;
}

function quad({ transform, width, height }: TextRun, from: number, to: number): Quad {
  const [a = 1, b = 0, c = 0, d = 1, x = 0, y = 0] = transform;
  const along = unit(a, b);
  const up = unit(c, d);
  const size = height || Math.hypot(c, d);
  const point = (part: number, rise: number): [number, number] => [
    x + along[0] * width * part + up[0] * size * rise,
    y + along[1] * width * part + up[1] * size * rise,
  ];
  // Letters reach a little below their line.
  return [point(from, -0.22), point(to, -0.22), point(to, 0.88), point(from, 0.88)];
}

function unit(x: number, y: number): [number, number] {
  const length = Math.hypot(x, y) || 1;
  return [x / length, y / length];
}
