import { expect, it } from 'vitest';
import { most, path, typical } from './figures';

it('finds the typical time of an hour, weighed by requests', () => {
  expect(typical([1, 100, null, 5], [98, 1, 0, 1])).toBe(1);
  expect(typical([null, null], [0, 0])).toBeNull();
  expect(most([null, 3, 7])).toBe(7);
  expect(most([null])).toBeNull();
});

it('draws a line with gaps, and a lone minute as a dot', () => {
  expect(path([0, 10, null, 5], 10, 30, 20)).toBe('M0.0 20.0L10.0 0.0M30.0 10.0h0.1');
  expect(path([0, 0], 0, 10, 10)).not.toContain('NaN');
});
