import { expect, it } from 'vitest';
import { plainly } from './plainly';

it('takes the marks of code out of what a service says, and settings for all but administrators', () => {
  expect(plainly('have `tesseract-ocr` installed')).toBe('have tesseract-ocr installed');
  const large = 'split it and upload the parts, or have MAX_PAGES raised';
  expect([plainly(large), plainly(large, true)]).toEqual(['split it and upload the parts', large]);
});
