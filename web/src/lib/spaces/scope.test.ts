import { expect, test } from 'vitest';
import { MINE, placesOf, readScope, requested, toggled, writeScope } from './scope';

test('places are read from the address as they were written', () => {
  for (const places of [[], [MINE], [MINE, 'a'], ['a', 'b']])
    expect(readScope(writeScope(places))).toEqual(places);
  expect(readScope('a,,a, b')).toEqual(['a', 'b']);
});

test('all places together are everything', () => {
  const all = [MINE, 'a', 'b'];
  expect(toggled([], 'a', all)).toEqual(['a']);
  expect(toggled(['a'], 'a', all)).toEqual([]);
  expect(toggled(['a', MINE], 'b', all)).toEqual([]);
});

test('the own documents are the user’s id in a request, and back', () => {
  expect(requested([MINE, 'a'], 'u')).toEqual(['u', 'a']);
  expect(placesOf(['u', 'a'], 'u')).toEqual([MINE, 'a']);
});
