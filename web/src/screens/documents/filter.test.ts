import type { Document } from '$lib/documents.svelte';
import { expect, test } from 'vitest';
import { compare, type Filter, fits, isFiltered, parameters, readFilter } from './filter';

const document = (changes: Partial<Document>): Document => ({
  id: 'a',
  userId: 'u',
  title: 'Pump manual',
  filename: 'pump.pdf',
  mediaType: 'application/pdf',
  size: 10,
  objectKey: '',
  uploadedAt: 5,
  status: 'indexed',
  progress: 100,
  chunkCount: 1,
  graphNodes: 1,
  version: 1,
  metadata: { category: 'Manuals', tags: 'pump, coolant' },
  ...changes,
});
const filter = (query: string): Filter => readFilter(new URLSearchParams(query));

test('a filter is read from the address as it was written', () => {
  const query = 'spaceId=s1&status=error&title=a%26b&category=c&tags=x%2Cy&sort=size';
  expect(new URLSearchParams(parameters(filter(query))).toString()).toBe(query);
  expect(parameters(filter('status=nonsense&sort=newest'))).toEqual({});
  expect([isFiltered(filter('spaceId=s1')), isFiltered(filter('tags=x'))]).toEqual([false, true]);
});

test('a live document is judged as the server judges it', () => {
  for (const [query, expected] of [
    ['', true],
    ['status=indexed', true],
    ['status=error', false],
    ['title=MANUAL', true],
    ['title=valve', false],
    ['category=manuals', true],
    ['category=man', false],
    ['tags=coolant', true],
    ['tags=coolant,Pump', true],
    ['tags=coolant,oil', false],
  ] as const) {
    expect(fits(document({}), filter(query)), query).toBe(expected);
  }
});

test('each order sorts as the server does, equal ones by id', () => {
  const all = [
    document({ id: 'b', title: 'B', size: 1, uploadedAt: 1 }),
    document({ id: 'a', title: 'C', size: 1, uploadedAt: 2 }),
  ];
  const order = (sort: Filter['sort']) =>
    all
      .toSorted((a, b) => compare(a, b, sort))
      .map(({ id }) => id)
      .join('');
  expect([order('newest'), order('oldest'), order('title'), order('size')]).toEqual(['ab', 'ba', 'ba', 'ab']);
});
