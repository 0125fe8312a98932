/*
 * Finds a passage on a page of a PDF. The text of the passage was extracted by another program than the browser's, so
 * spaces, hyphens and ligatures differ: only letters and digits are compared. If it is not certain where the passage is,
 * nothing is found.
 */

/** A run of text on a page, as pdf.js returns it. */
export type TextRun = { str: string; transform: number[]; width: number; height: number };

/** A quadrilateral on a page, as four points in the page's own units. */
export type Quad = [number, number][];

/** Shorter pieces occur by chance. */
const SHORTEST_PIECE = 24;
/** How much of a passage has to be found, if it is not found as a whole. */
const ENOUGH = 0.8;

type Letters = { text: string; places: { run: number; from: number; to: number }[] };
type Match = { start: number; end: number };

/** Returns where a passage is on a page, line by line; none if that is not certain. */
export function locate(runs: TextRun[], passage: string): Quad[] {
  const page = lettersOf(runs);
  const wanted = letters(passage);
  if (wanted === '') return [];
  const whole = find(page.text, wanted);
  if (whole) return quads(runs, page, [whole]);
  // A word that occurs twice is not the passage; the same passage twice is not certain either.
  if (page.text.includes(wanted)) return [];
  const pieces = piecesOf(passage);
  const found = pieces.map((piece) => find(page.text, piece)).filter((match) => match !== null);
  const covered = found.reduce((sum, { start, end }) => sum + end - start, 0);
  return covered >= ENOUGH * wanted.length ? quads(runs, page, found) : [];
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

/** Returns the only place of a text in another. */
function find(text: string, wanted: string): Match | null {
  const start = text.indexOf(wanted);
  if (start < 0 || text.indexOf(wanted, start + 1) >= 0) return null;
  return { start, end: start + wanted.length };
}

/** Cuts a passage into sentences; short ones are joined with the next. */
function piecesOf(passage: string): string[] {
  const pieces: string[] = [];
  let open = '';
  for (const sentence of passage.split(/(?<=[.!?。])\s+|\n+/)) {
    open += letters(sentence);
    if (open.length < SHORTEST_PIECE) continue;
    pieces.push(open);
    open = '';
  }
  return pieces;
}

/** Returns the places of matches, with the spaces between their first and their last letters. */
function quads(runs: TextRun[], page: Letters, matches: Match[]): Quad[] {
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
