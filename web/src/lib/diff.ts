import { diffLines, diffWordsWithSpace } from 'diff';

/*
 * What has changed between two texts, line by line. Loaded when a comparison is opened: import it with `import()`, or use
 * `ui/Diff.svelte`.
 */

export type Part = { text: string; changed: boolean };

export type DiffLine = {
  kind: 'same' | 'added' | 'removed';
  /** The line's number in each text, counted from 1. */
  before: number | null;
  after: number | null;
  parts: Part[];
};

/** Lines that are shown, or unchanged ones that are folded away. */
export type Hunk = { folded: boolean; lines: DiffLine[] };

/** Unchanged lines that stay visible around a change. */
const CONTEXT = 3;
/** Texts that differ in more than can be found in this time, in milliseconds, are shown as replaced. */
const TIME = 1500;
/** Longer lines are not compared word by word. */
const LONGEST_LINE = 2000;

export function compare(before: string, after: string): DiffLine[] {
  const changes = diffLines(before, after, { timeout: TIME }) ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ];
  const lines: DiffLine[] = [];
  let [left, right] = [1, 1];
  for (let at = 0; at < changes.length; at++) {
    const { value, added, removed } = changes[at]!;
    const texts = split(value);
    const following = changes[at + 1];
    if (removed && following?.added) {
      const others = split(following.value);
      const pairs = texts.map((text, index) => (index < others.length ? words(text, others[index]!) : null));
      texts.forEach((text, index) =>
        lines.push({
          kind: 'removed',
          before: left++,
          after: null,
          parts: pairs[index]?.before ?? whole(text),
        }),
      );
      others.forEach((text, index) =>
        lines.push({
          kind: 'added',
          before: null,
          after: right++,
          parts: pairs[index]?.after ?? whole(text),
        }),
      );
      at++;
    } else if (removed) {
      for (const text of texts)
        lines.push({ kind: 'removed', before: left++, after: null, parts: whole(text) });
    } else if (added) {
      for (const text of texts)
        lines.push({ kind: 'added', before: null, after: right++, parts: whole(text) });
    } else {
      for (const text of texts)
        lines.push({ kind: 'same', before: left++, after: right++, parts: whole(text) });
    }
  }
  return lines;
}

/** Folds unchanged lines that are far from a change. */
export function fold(lines: DiffLine[]): Hunk[] {
  const near = lines.map(() => false);
  lines.forEach(({ kind }, index) => {
    if (kind === 'same') return;
    for (let at = Math.max(0, index - CONTEXT); at <= Math.min(lines.length - 1, index + CONTEXT); at++)
      near[at] = true;
  });
  const hunks: Hunk[] = [];
  lines.forEach((line, index) => {
    const folded = !near[index];
    const last = hunks.at(-1);
    if (last?.folded === folded) last.lines.push(line);
    else hunks.push({ folded, lines: [line] });
  });
  return hunks;
}

export function count(lines: DiffLine[]): { added: number; removed: number } {
  const of = (wanted: DiffLine['kind']) => lines.filter(({ kind }) => kind === wanted).length;
  return { added: of('added'), removed: of('removed') };
}

/** Compares two lines word by word. Null if they have too little in common for that to help. */
function words(before: string, after: string): { before: Part[]; after: Part[] } | null {
  if (before.length > LONGEST_LINE || after.length > LONGEST_LINE) return null;
  const changes = diffWordsWithSpace(before, after);
  const common = changes
    .filter(({ added, removed }) => !added && !removed)
    .reduce((sum, { value }) => sum + value.trim().length, 0);
  if (common < Math.max(before.trim().length, after.trim().length) / 3) return null;
  return {
    before: changes
      .filter(({ added }) => !added)
      .map(({ value, removed }) => ({ text: value, changed: removed })),
    after: changes
      .filter(({ removed }) => !removed)
      .map(({ value, added }) => ({ text: value, changed: added })),
  };
}

const whole = (text: string): Part[] => [{ text, changed: false }];

/** Splits into lines. The last line's end is not the start of another. */
function split(text: string): string[] {
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}
