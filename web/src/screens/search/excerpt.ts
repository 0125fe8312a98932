export type Span = { start: number; end: number };
export type Part = { text: string; marked: boolean };

/** How much of a passage is shown, in characters, and how much of it before the first match. */
const LENGTH = 360;
const BEFORE = 90;

/** Returns the part of a passage that has most of the matched words, with these marked. */
export function excerpt(text: string, matches: Span[]): Part[] {
  const valid = matches
    .filter(({ start, end }) => start >= 0 && end > start && end <= text.length)
    .sort((a, b) => a.start - b.start);
  const start =
    text.length <= LENGTH ? 0 : wordAt(text, Math.min(bestStart(text, valid) - BEFORE, text.length - LENGTH));
  const end = start + LENGTH >= text.length ? text.length : wordEnd(text, start + LENGTH);

  const parts: Part[] = [];
  const add = (text: string, marked: boolean) => text !== '' && parts.push({ text, marked });
  let done = start;
  if (start > 0) add('… ', false);
  for (const match of valid) {
    if (match.start < done || match.end > end) continue;
    add(text.slice(done, match.start), false);
    add(text.slice(match.start, match.end), true);
    done = match.end;
  }
  add(text.slice(done, end), false);
  if (end < text.length) add(' …', false);
  return parts;
}

/** Returns the match that most different words follow within the length of an excerpt; the first of equal ones. */
function bestStart(text: string, matches: Span[]): number {
  let best = { start: matches[0]?.start ?? 0, words: 0 };
  for (const { start } of matches) {
    const within = matches.filter((match) => match.start >= start && match.end <= start + LENGTH - BEFORE);
    const words = new Set(within.map((match) => text.slice(match.start, match.end).toLowerCase())).size;
    if (words > best.words) best = { start, words };
  }
  return best.start;
}

/** Returns where the word begins that follows a place. */
function wordAt(text: string, place: number): number {
  if (place <= 0) return 0;
  const space = text.slice(place, place + 40).search(/\s/);
  return space < 0 ? place : place + space + 1;
}

/** Returns where the last word before a place ends. */
function wordEnd(text: string, place: number): number {
  const space = text.slice(place - 40, place).search(/\s\S*$/);
  return space < 0 ? place : place - 40 + space;
}
