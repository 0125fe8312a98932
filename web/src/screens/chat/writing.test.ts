import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Writing } from './writing';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('many pieces are shown a few times a second, and none is lost', () => {
  const shown: string[] = [];
  const writing = new Writing((text) => shown.push(text));
  for (let i = 0; i < 100; i++) {
    writing.add('x');
    vi.advanceTimersByTime(5);
  }
  vi.advanceTimersByTime(100);
  expect(shown.length).toBeLessThan(12);
  expect(shown.at(-1)).toBe('x'.repeat(100));
});

test('after a restart the text begins anew, and nothing is shown until it comes', () => {
  const shown: string[] = [];
  const writing = new Writing((text) => shown.push(text));
  writing.add('half an answ');
  writing.restart();
  vi.advanceTimersByTime(100);
  expect(shown).toEqual([]);
  writing.add('half an answer');
  vi.advanceTimersByTime(100);
  expect(shown).toEqual(['half an answer']);
});
