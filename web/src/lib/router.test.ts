import { expect, test } from 'vitest';
import { href, router } from './router.svelte';

test('an address holds any name', () => {
  router.start();
  router.go(href(['documents', 'a/b?c#d ü'], { q: 'x&y', none: null }));
  expect(router.parts).toEqual(['documents', 'a/b?c#d ü']);
  expect(router.query.get('q')).toBe('x&y');
  expect(router.query.has('none')).toBe(false);
});

test('a filter replaces the entry and keeps the other parameters', () => {
  router.go(href('/documents', { sort: 'title' }));
  const entries = history.length;
  router.setQuery({ status: 'error' });
  expect(location.hash).toBe('#/documents?sort=title&status=error');
  router.setQuery({ sort: null });
  expect(location.hash).toBe('#/documents?status=error');
  expect(history.length).toBe(entries);
});
