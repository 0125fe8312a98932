import { expect, test } from 'vitest';
import { excerpt, type Span } from './excerpt';

const shown = (text: string, matches: Span[]) =>
  excerpt(text, matches)
    .map(({ text, marked }) => (marked ? `[${text}]` : text))
    .join('');

test('the matched words of a short passage are marked', () => {
  expect(
    shown('The pump runs.', [
      { start: 4, end: 8 },
      { start: 9, end: 13 },
    ]),
  ).toBe('The [pump] [runs].');
  expect(shown('The pump runs.', [])).toBe('The pump runs.');
  expect(shown('', [])).toBe('');
});

test('a long passage is shown around its first match, in whole words', () => {
  const text = 'lorem '.repeat(200) + 'pump ' + 'ipsum '.repeat(200);
  const result = shown(text, [{ start: 1200, end: 1204 }]);
  expect(result).toMatch(/^… (lorem )+\[pump\] (ipsum )+ipsum …$/);
  expect(result.length).toBeLessThan(400);
});

test('a match at the end of a long passage is shown', () => {
  const text = 'lorem '.repeat(200) + 'pump';
  expect(shown(text, [{ start: 1200, end: 1204 }])).toMatch(/^… .*\[pump\]$/);
});

test('the part with most of the words is shown', () => {
  const text = 'pump ' + 'lorem '.repeat(200) + 'pump P-204 ' + 'ipsum '.repeat(200);
  const matches = [
    { start: 0, end: 4 },
    { start: 1205, end: 1209 },
    { start: 1210, end: 1215 },
  ];
  expect(shown(text, matches)).toContain('[pump] [P-204]');
});

test('places that the text does not have are left out', () => {
  expect(
    shown('pump', [
      { start: 2, end: 99 },
      { start: -1, end: 2 },
      { start: 3, end: 3 },
    ]),
  ).toBe('pump');
});
