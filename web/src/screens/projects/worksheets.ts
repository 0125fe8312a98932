import type { Artifact } from '$lib/api/types/supervisor';

/** How a worksheet begins, which the supervisor makes in place of a document if the model is too small to write one. */
const BEGINNING = /^(# )?> A worksheet: `[^`]*` is too small a model to write this document\./;

/** Returns whether an artifact is a worksheet. One that a person has edited is their document. */
export function isWorksheet({ content, edited_by }: Pick<Artifact, 'content' | 'edited_by'>): boolean {
  return !edited_by && BEGINNING.test(content);
}

/** Models with fewer parameters than this lay out worksheets. */
const FEWEST_PARAMETERS = 1e9;

/**
 * Returns whether a model is too small to write documents. The service does not tell how many parameters a model has, so
 * this goes by its name: `SmolLM2-135M-Instruct`. A name without a number of parameters says nothing.
 */
export function isTooSmall(model: string): boolean {
  const size = /(?<![A-Za-z0-9.])(\d+(?:\.\d+)?)([MB])(?![A-Za-z0-9])/i.exec(model);
  if (!size) return false;
  return Number(size[1]) * (size[2]!.toUpperCase() === 'M' ? 1e6 : 1e9) < FEWEST_PARAMETERS;
}
