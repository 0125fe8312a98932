import { words } from '$words/sources';
import { expect, test } from 'vitest';
import { isActive, lastRunOf, nextLook, placeOf, POLL, resultOf, statusOf } from './runs';
import type { Source } from './source';

const run = {
  startedAt: 0,
  endedAt: 1,
  error: null,
  added: 0,
  changed: 0,
  unchanged: 0,
  skipped: 0,
  failed: 0,
  removed: 0,
};
const source = (changes: Partial<Source>): Source => ({
  id: 's',
  createdBy: 'u',
  name: 'Manuals',
  settings: { kind: 'folder', path: '/srv/manuals' },
  hasSecret: false,
  every: null,
  paused: false,
  status: 'waiting',
  nextRunAt: null,
  lastRun: null,
  items: { stored: 0, skipped: 0, error: 0 },
  ...changes,
});

test('a list is read again every two seconds while something runs, and when the next run is due', () => {
  const now = 1_000_000;
  expect(nextLook([source({})], now)).toBeNull();
  expect(nextLook([source({}), source({ status: 'running' })], now)).toBe(POLL);
  expect(nextLook([source({ nextRunAt: now })], now)).toBe(POLL);
  expect(nextLook([source({ nextRunAt: now + 60_000 })], now)).toBe(60_000);
  expect(nextLook([source({ nextRunAt: now + 60_000, status: 'paused' })], now)).toBeNull();
  expect(isActive(source({ nextRunAt: now - 5, status: 'paused' }), now)).toBe(false);
});

test('a result names what has happened, and nothing else', () => {
  expect(resultOf({ ...run, added: 2, unchanged: 1200, failed: 1 })).toBe(
    '2 added, 1,200 unchanged, 1 not read',
  );
  expect(resultOf(run)).toBe(words.counts.nothing);
});

test('a source says what it does', () => {
  expect(statusOf(source({})).text).toBe(words.status.never);
  expect(statusOf(source({ lastRun: run })).text).toBe(words.status.waiting);
  expect(statusOf(source({ status: 'failed', lastRun: run })).tone).toBe('error');
  expect(lastRunOf(source({ status: 'running' }))).toBe(words.starting);
  expect(lastRunOf(source({ status: 'running', lastRun: { ...run, added: 3 } }))).toBe(
    words.running('3 added'),
  );
  expect(lastRunOf(source({ lastRun: { ...run, error: 'no such folder' } }))).toContain('no such folder');
});

test('a place is named in short', () => {
  expect(placeOf(source({}))).toBe('/srv/manuals');
  const web = {
    kind: 'web',
    mode: 'pages',
    addresses: ['https://a.example/', 'https://b.example/'],
    depth: 3,
    pages: 9,
    delay: 1000,
  };
  expect(placeOf(source({ settings: web as Source['settings'] }))).toBe('https://a.example/ +1');
});
