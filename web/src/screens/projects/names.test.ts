import { expect, test } from 'vitest';
import { readable, readableList } from './names';

test('names of phases and agents are readable', () => {
  expect(readable('prd')).toBe('PRD');
  expect(readable('prd-critic')).toBe('PRD critic');
  expect(readable('product-manager')).toBe('Product manager');
  expect(readableList(['architect', 'qa-lead', 'planner'])).toBe('Architect, QA lead, and Planner');
});
