import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { sha256, sha256Hex } from './sha256';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

test('the digest without WebCrypto equals the one of others, around every block boundary', () => {
  for (const length of [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 1000]) {
    const bytes = new Uint8Array(length).map((_, index) => index * 7);
    expect(hex(sha256(bytes)), `${length} bytes`).toBe(createHash('sha256').update(bytes).digest('hex'));
  }
});

test('a text is digested as UTF-8', async () => {
  expect(await sha256Hex('Ärger 漢字')).toBe(createHash('sha256').update('Ärger 漢字').digest('hex'));
});
