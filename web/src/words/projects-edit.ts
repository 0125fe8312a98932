import { formatNumber } from '$lib/format';

/** What is said where a person edits an artifact, or fills in a worksheet. */
export const edit = {
  start: 'Edit',
  fillIn: 'Fill in',
  go: 'Continue the edit',
  editing: 'Your version',
  label: 'Text of the artifact',
  changes: 'Your changes',
  preview: 'Preview',
  unchanged: 'You have changed nothing yet.',
  save: 'Save',
  discard: 'Discard the edit',
  kept: 'Kept in this browser until it is saved.',
  empty: 'The text must not be empty.',
  notJson: (why: string) => `The artifact is JSON, and this is not: ${why}`,
  newer: (version: number, by: string | null) =>
    `Version ${formatNumber(version)}${by ? `, edited by ${by},` : ''} was saved since you began. Your changes are shown against it; saving replaces it.`,
  running: 'The phase is running. Your edit is kept; it can be saved when the run is paused or has ended.',
  saved: (version: number) => `Saved as version ${formatNumber(version)}.`,
  stillWaits: 'It still waits for approval.',
  showChanges: 'Show the changes',
  form: 'Questions',
  text: 'Whole text',
  how: 'How to edit it',
  answered: (n: number, of: number) =>
    n === of
      ? 'All questions are answered: saved, this is the document.'
      : `${n} of ${of} questions answered.`,
};
