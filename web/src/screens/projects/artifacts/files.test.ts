import { expect, test } from 'vitest';
import { fileName, nameFrom, prettyJson } from './files';

test('an artifact is saved under its phase, agent and version', () => {
  expect(fileName({ phase: 'prd', agent: 'product-manager', version: 2, type: 'markdown' })).toBe(
    'prd-product-manager.v2.md',
  );
  expect(fileName({ phase: 'old/..', agent: '../x', version: 1, type: 'code' })).toBe('old---x.v1.txt');
});

test('the name of an archive comes from the server', () => {
  expect(nameFrom('attachment; filename="Bees.zip"', 'x.zip')).toBe('Bees.zip');
  expect(nameFrom(null, 'x.zip')).toBe('x.zip');
  expect(nameFrom('attachment; filename="../Bees.zip"', 'x.zip')).toBe('x.zip');
});

test('JSON is spread over lines, and other text is not taken for it', () => {
  expect(prettyJson('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
  expect(prettyJson('{a')).toBeNull();
});
