import { expect, test } from 'vitest';
import { readQuota, shareUsed, writeQuota } from './quota';

test('a quota is read as it was written', () => {
  for (const [bytes, written] of [
    [2_500_000, { amount: '2.5', unit: 'MB' }],
    [1e9, { amount: '1', unit: 'GB' }],
    [3e12, { amount: '3', unit: 'TB' }],
    [0, { amount: '0', unit: 'MB' }],
  ] as const) {
    expect(writeQuota(bytes)).toEqual(written);
    expect(readQuota(written.amount, written.unit)).toBe(bytes);
  }
  expect(readQuota('1,5', 'GB')).toBe(1.5e9);
  for (const wrong of ['', ' ', 'much', '-1']) expect(readQuota(wrong, 'GB')).toBeNull();
});

test('a used share is never more than all, and all of nothing', () => {
  expect([shareUsed(1, 4), shareUsed(9, 4), shareUsed(0, 0), shareUsed(9, null)]).toEqual([
    25,
    100,
    100,
    null,
  ]);
});
