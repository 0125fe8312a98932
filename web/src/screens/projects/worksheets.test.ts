import { expect, test } from 'vitest';
import { fillIn, finished, isWorksheet, knownOf, questionsOf } from './worksheets';

const NOTE =
  '> A worksheet: `SmolLM2-135M-Instruct.Q4_1` is too small a model to write this document. Give the agent a larger one, or answer the questions yourself.';
const SHEET = `${NOTE}

## What is known

- A diary of each hive.

## Problem

*To be answered:* What goes wrong today?

## Users

*To be answered:* Each kind of user.
`;

test('a worksheet is told from a document, also as comments of a program', () => {
  expect(isWorksheet({ content: SHEET })).toBe(true);
  expect(isWorksheet({ content: `# ${NOTE}` })).toBe(true);
  expect(isWorksheet({ content: '> A worksheet: what is known of bees' })).toBe(false);
  expect(isWorksheet({ content: `# Diary\n\n${NOTE}` })).toBe(false);
});

test('a worksheet has what is known and its questions', () => {
  expect(knownOf(SHEET)).toBe('## What is known\n\n- A diary of each hive.\n\n');
  expect(questionsOf(SHEET)).toEqual([
    { heading: 'Problem', question: 'What goes wrong today?', answer: '' },
    { heading: 'Users', question: 'Each kind of user.', answer: '' },
  ]);
});

test('answers are written below their questions, and read back', () => {
  expect(fillIn(SHEET, [])).toBe(SHEET);
  expect(fillIn(SHEET.trimEnd(), [])).toBe(SHEET.trimEnd());
  const half = fillIn(SHEET, ['', 'Beekeepers.\n\n## Their helpers\n\nChildren.']);
  expect(half).toContain(
    '## Problem\n\n*To be answered:* What goes wrong today?\n\n## Users\n\n*Asked:* Each kind of user.\n\nBeekeepers.',
  );
  expect(questionsOf(half).map(({ answer }) => answer)).toEqual([
    '',
    'Beekeepers.\n\n## Their helpers\n\nChildren.',
  ]);
  // An answer that is taken back leaves the question open again.
  expect(fillIn(half, ['', ' '])).toBe(SHEET);
});

test('a worksheet becomes the document when its last question is answered', () => {
  const half = fillIn(SHEET, ['Notes get lost.']);
  expect(finished(half)).toBe(half);
  const whole = finished(fillIn(half, ['Notes get lost.', 'Beekeepers.']));
  expect(isWorksheet({ content: whole })).toBe(false);
  expect(whole.startsWith('## What is known\n\n- A diary')).toBe(true);
  expect(whole.endsWith('*Asked:* Each kind of user.\n\nBeekeepers.\n')).toBe(true);
  // Nor is a program that was written in the place of its worksheet one.
  expect(finished(`# ${NOTE}\n#\n# ## What is known\nprint(1)\n`)).toBe('# ## What is known\nprint(1)\n');
  expect(finished('# Diary\n')).toBe('# Diary\n');
});
