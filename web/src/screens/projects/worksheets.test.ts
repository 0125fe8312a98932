import { expect, test } from 'vitest';
import { isWorksheet } from './worksheets';

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
