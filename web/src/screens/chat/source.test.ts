import { expect, test } from 'vitest';
import type { Source } from './message.svelte';
import { byDocument, citedIn, graphOf, placeOf } from './source';

test('a source says where it stands, as far as it knows', () => {
  const metadata = {
    documentTitle: 'Pump manual',
    chunkIndex: 0,
    headings: ['Pump manual', 'Seals'],
    offset: 0,
    page: 3,
    spaceName: 'Maintenance',
  };
  const full = { id: 'c1', documentId: 'd1', text: '', score: 1, metadata } as Source;
  expect(placeOf(full)).toEqual({
    documentId: 'd1',
    title: 'Pump manual',
    headings: 'Pump manual › Seals',
    section: 'Seals',
    page: 3,
    space: 'Maintenance',
  });
  const bare = { id: '7', text: '', metadata: { headings: 'x', page: '3' } } as unknown as Source;
  expect(placeOf(bare)).toEqual({
    documentId: null,
    title: '7',
    headings: '',
    section: null,
    page: null,
    space: null,
  });
});

test('the graph of an answer is named by all its sources', () => {
  const sources = [{ id: 'a b' }, { id: 'c&d' }] as Source[];
  expect(graphOf(sources)).toBe('#/graph?sources=a+b&sources=c%26d');
});

test('the numbers that a text cites are those outside of code', () => {
  expect([...citedIn('It is so [2]. And [12], again [2]; not [3](x).')]).toEqual([2, 12]);
  expect([...citedIn('`a[1]`\n\n```\nb[2]\n```\nand [4]\n```\n[5]')]).toEqual([4]);
});

test('sources are told by document, in the order of their first ones', () => {
  const numbered = ['a', 'b', 'a'].map((documentId, index) => {
    const source = { id: `c${index}`, documentId, text: '', metadata: { documentTitle: 'Same' } };
    return {
      number: index + 1,
      source: source as unknown as Source,
      place: placeOf(source as unknown as Source),
    };
  });
  const numbers = byDocument(numbered).map((document) => document.map(({ number }) => number));
  expect(numbers).toEqual([[1, 3], [2]]);
});
