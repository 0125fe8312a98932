import type { Artifact } from '$lib/api/types/supervisor';

/*
 * Worksheets, which the supervisor lays out in place of documents if the model is too small to write them. Below each heading
 * stands a question; an answer is written below it, and the sheet without an open question is the document.
 */

/** How a worksheet begins, also as a comment of a program. */
const BEGINNING =
  /^(# )?> A worksheet: `[^`]*` is too small a model to write this document\.[^\n]*(\n(# ?)?(?=\n|$))*\n?/;
const OPEN = '*To be answered:*';
const ANSWERED = '*Asked:*';
const QUESTION = /^## (.+)\n\n\*(?:To be answered|Asked):\*(.*)$/gm;

export type Question = { heading: string; question: string; answer: string };

/** Returns whether an artifact is a worksheet. One that was filled in is a document. */
export function isWorksheet({ content }: Pick<Artifact, 'content'>): boolean {
  return BEGINNING.test(content);
}

/** Returns what a worksheet has before its questions: what is known. */
export function knownOf(sheet: string): string {
  return sheet.slice(0, [...sheet.matchAll(QUESTION)][0]?.index).replace(BEGINNING, '');
}

/** Returns the questions of a worksheet, with the answers that it has. */
export function questionsOf(sheet: string): Question[] {
  const found = [...sheet.matchAll(QUESTION)];
  return found.map((match, at) => ({
    heading: match[1]!,
    question: match[2]!.trim(),
    answer: sheet.slice(match.index + match[0].length, found[at + 1]?.index).trim(),
  }));
}

/** Writes the answers below the questions of a worksheet, in their order. An empty answer leaves its question open. */
export function fillIn(sheet: string, answers: string[]): string {
  const known = sheet.slice(0, [...sheet.matchAll(QUESTION)][0]?.index);
  const sections = questionsOf(sheet).map(({ heading, question }, at) => {
    const answer = answers[at]?.trim();
    return `## ${heading}\n\n${answer ? ANSWERED : OPEN} ${question}\n${answer ? `\n${answer}\n` : ''}`;
  });
  const filled = known + sections.join('\n');
  return sheet.endsWith('\n') ? filled : filled.trimEnd();
}

/** Makes a worksheet whose questions are all answered the document: takes away the note that it begins with. */
export function finished(sheet: string): string {
  return questionsOf(sheet).every(({ answer }) => answer) ? sheet.replace(BEGINNING, '') : sheet;
}
