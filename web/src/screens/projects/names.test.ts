import { expect, test } from 'vitest';
import { readable, readableList } from './names';

test('names of phases and agents are readable', () => {
  expect(readable('prd')).toBe('Requirements');
  expect(readable('prd-critic')).toBe('Requirements critic');
  expect(readable('product-manager')).toBe('Product manager');
  expect(readableList(['architect', 'qa-lead', 'planner'])).toBe('Architect, QA lead, and Planner');
});
