import { expect, test } from 'vitest';
import { plainText } from './plain';

test('a text is read aloud without its layout and the numbers of sources', () => {
  const text =
    '## Seals\n\nThe **seal** lasts `500` hours [1], see [the page](https://x.example) [2].\n\n- one [12]\n- two';
  expect(plainText(text)).toBe('Seals The seal lasts 500 hours, see the page. one two');
});

test('tables and code are read as their text', () => {
  expect(plainText('| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nls -l\n```')).toBe('a b 1 2 ls -l');
});
