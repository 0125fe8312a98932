import { expect, test } from 'vitest';
import { isTooSmall, isWorksheet } from './worksheets';

const SHEET =
  '> A worksheet: `SmolLM2-135M-Instruct.Q4_1` is too small a model to write this document. Give the agent a larger one.';
const artifact = (content: string, edited_by: string | null = null) => ({ content, edited_by });

test('a worksheet is told from a document, also as comments of a program', () => {
  expect(isWorksheet(artifact(SHEET))).toBe(true);
  expect(isWorksheet(artifact(`# ${SHEET}`))).toBe(true);
  expect(isWorksheet(artifact('> A worksheet: what is known of bees'))).toBe(false);
  expect(isWorksheet(artifact(`# Diary\n\n${SHEET}`))).toBe(false);
  expect(isWorksheet(artifact(SHEET, 'admin'))).toBe(false);
});

test('a model below a billion parameters is too small to write', () => {
  expect(
    ['SmolLM2-135M-Instruct.Q4_1', 'Qwen2.5-0.5B-Instruct-Q8_0', 'smollm2-360m'].map(isTooSmall),
  ).toEqual([true, true, true]);
  expect(['Llama-3.2-1B-Instruct-Q4_K_M', 'SmolLM2-1.7B', 'my-model', 'gpt-4'].map(isTooSmall)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});
