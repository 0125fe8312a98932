import type { Artifact } from '$lib/api/types/supervisor';

/** How a worksheet begins, which the supervisor makes in place of a document if the model is too small to write one. */
const BEGINNING = /^(# )?> A worksheet: `[^`]*` is too small a model to write this document\./;

/** Returns whether an artifact is a worksheet. One that a person has edited is their document. */
export function isWorksheet({ content, edited_by }: Pick<Artifact, 'content' | 'edited_by'>): boolean {
  return !edited_by && BEGINNING.test(content);
}
