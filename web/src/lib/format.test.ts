import { expect, test } from 'vitest';
import { formatAgo, formatBytes, formatDuration } from './format';

test('sizes and durations have two or three digits', () => {
  expect([0, 999, 1000, 52_311, 1_500_000, 3e12].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '52 kB',
    '1.5 MB',
    '3.0 TB',
  ]);
  expect([12, 1240, 65_000, 7_380_000].map(formatDuration)).toEqual([
    '12 ms',
    '1.2 s',
    '1 min 5 s',
    '2 h 3 min',
  ]);
});

test('a time is relative for a month', () => {
  const now = Date.UTC(2026, 10, 16);
  expect(formatAgo(now - 5 * 60_000, now)).toMatch(/5/);
  expect([now, now - 50_000].map((time) => formatAgo(time, now))).toEqual(['now', 'now']);
  expect(formatAgo(now - 90 * 86_400_000, now)).toMatch(/2026/);
  expect(formatAgo(null)).toBe('');
});
