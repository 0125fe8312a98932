import { expect, test } from 'vitest';
import { MINE, placesOf, readScope, requested, toggled, writeScope } from './scope';

test('places are read from the address as they were written', () => {
  for (const places of [[], [MINE], [MINE, 'a'], ['a', 'b']])
    expect(readScope(writeScope(places))).toEqual(places);
  expect(readScope('a,,a, b')).toEqual(['a', 'b']);
});

test('a place is chosen and taken out again; without any it is everything', () => {
  expect(toggled([MINE], 'a')).toEqual([MINE, 'a']);
  expect(toggled([MINE, 'a'], MINE)).toEqual(['a']);
  expect(writeScope(toggled(['a'], 'a'))).toBeNull();
});

test('the own documents are the user’s id in a request, and back', () => {
  expect(requested([MINE, 'a'], 'u')).toEqual(['u', 'a']);
  expect(placesOf(['u', 'a'], 'u')).toEqual([MINE, 'a']);
});
