import { expect, test } from 'vitest';
import { compare, count, fold } from './diff';

const short = (before: string, after: string) =>
  compare(before, after).map(({ kind, before: left, after: right, parts }) => {
    const text = parts.map((part) => (part.changed ? `[${part.text}]` : part.text)).join('');
    return `${{ same: ' ', added: '+', removed: '-' }[kind]} ${left ?? '.'} ${right ?? '.'} ${text}`;
  });

test('lines are numbered in both texts, and changed words are marked', () => {
  expect(short('one\ntwo bees fly\nthree\n', 'one\ntwo bees sleep\nthree\nfour\n')).toEqual([
    '  1 1 one',
    '- 2 . two bees [fly]',
    '+ . 2 two bees [sleep]',
    '  3 3 three',
    '+ . 4 four',
  ]);
});

test('lines that have little in common are shown whole', () => {
  expect(short('alpha beta\n', 'gamma delta epsilon\n')).toEqual([
    '- 1 . alpha beta',
    '+ . 1 gamma delta epsilon',
  ]);
});

test('equal texts have no changes', () => {
  expect(count(compare('a\nb\n', 'a\nb\n'))).toEqual({ added: 0, removed: 0 });
});

test('unchanged lines far from a change are folded', () => {
  const before = Array.from({ length: 20 }, (_, index) => `line ${index}`).join('\n');
  const hunks = fold(compare(before, before.replace('line 10', 'row 10')));
  expect(hunks.map(({ folded, lines }) => [folded, lines.length])).toEqual([
    [true, 7],
    [false, 8],
    [true, 6],
  ]);
});
