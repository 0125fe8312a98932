import { expect, it } from 'vitest';
import { everyDay, startOf } from './days';

const sums = { calls: 1, inputTokens: 2, outputTokens: 3, seconds: 4, cost: 5 };

it('a period has whole days in UTC, and ends today', () => {
  const now = Date.UTC(2026, 10, 19, 23, 30);
  expect(startOf(1, now)).toBe(Date.UTC(2026, 10, 19));
  expect(startOf(7, now)).toBe(Date.UTC(2026, 10, 13));
});

it('a day without calls is there, too', () => {
  const rows = [{ key: '2026-11-18', name: '2026-11-18', ...sums }];
  const days = everyDay(rows, Date.UTC(2026, 10, 17), Date.UTC(2026, 10, 19, 12));
  expect(days.map(({ day, sums }) => [day, sums.calls])).toEqual([
    ['2026-11-17', 0],
    ['2026-11-18', 1],
    ['2026-11-19', 0],
  ]);
});
