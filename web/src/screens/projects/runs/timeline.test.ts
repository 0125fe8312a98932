import type { Trace } from '$lib/api/types/supervisor';
import { expect, test } from 'vitest';
import { marks, timeline, tokens } from './timeline';

const at = (seconds: number) => new Date(1_800_000_000_000 + seconds * 1000).toISOString();
const trace = (agent: string, start: number, end: number | null, more: Partial<Trace> = {}) =>
  ({
    agent,
    created_at: at(start),
    started_at: at(start),
    ended_at: end === null ? null : at(end),
    status: end === null ? 'running' : 'complete',
    ...more,
  }) as Trace;

test('executions lie on one line of time, in the order of their starts', () => {
  const { bars, length } = timeline([trace('b', 5, 10), trace('a', 0, 5)], 0);
  expect(length).toBe(10_000);
  expect(bars.map(({ trace: { agent }, start, width }) => [agent, start, width])).toEqual([
    ['a', 0, 50],
    ['b', 50, 50],
  ]);
});

test('one that still runs reaches to now', () => {
  const { bars } = timeline([trace('a', 0, 10), trace('b', 10, null)], Date.parse(at(20)));
  expect(bars[1]).toMatchObject({ start: 50, width: 50, duration: 10_000 });
});

test('marks are round and few', () => {
  expect(marks(11_000)).toEqual([0, 2000, 4000, 6000, 8000, 10_000]);
  expect(marks(90_000)).toEqual([0, 15_000, 30_000, 45_000, 60_000, 75_000, 90_000]);
  expect(marks(1)).toEqual([0]);
});

test('tokens that are not known count as none', () => {
  expect(
    tokens([
      trace('a', 0, 1, { input_tokens: 5, output_tokens: 2 }),
      trace('b', 1, 2, { input_tokens: null }),
    ]),
  ).toEqual({ read: 5, written: 2 });
});
