import { expect, it } from 'vitest';
import { expiryOf } from './expiry';

it('reads until when a token is valid', () => {
  const claims = btoa(JSON.stringify({ exp: 1_794_712_661, name: '??>>' }))
    .replace(/\+/g, '-')
    .replace(/\//g, '_');
  expect(expiryOf(`x.${claims.replace(/=+$/, '')}.y`)).toBe(1_794_712_661_000);
  expect(expiryOf('nonsense')).toBeNull();
});
