import { expect, test } from 'vitest';
import { beginningOf, dayAfter, dayOf } from './expiry';

test('a day is read as it was written, and begins at midnight here', () => {
  for (const day of ['2026-01-01', '2028-02-29', '2031-12-31']) {
    const time = beginningOf(day)!;
    expect(dayOf(time)).toBe(day);
    expect(new Date(time).getHours()).toBe(0);
  }
  for (const wrong of ['', '2026', '0000-01-01', 'tomorrow']) expect(beginningOf(wrong)).toBeNull();
});

test('the first day to expire is tomorrow, also at the end of a month', () => {
  expect(dayAfter(new Date(2026, 1, 28, 23, 59).getTime())).toBe('2026-03-01');
});
