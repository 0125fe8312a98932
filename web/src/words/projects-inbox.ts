/** What the inbox of projects says. */
export const inbox = {
  title: 'Waiting for you',
  open: (n: number) => (n > 0 ? `Waiting for you (${n})` : 'Waiting for you'),
  label: 'Artifacts that wait for a decision',
  empty: 'Nothing waits for you',
  emptyText: 'Artifacts that need approval appear here, from all projects that you see.',
  noneAsked: 'The present workflow asks for no approval.',
  more: (n: number) => `${n} more follow when these are decided.`,
  choose: 'Choose an artifact to read it and decide.',
  draft: 'Unsaved edit',
  othersDecide: 'Others decide',
  toProject: 'Open the project',
  back: 'All that waits',
  changes: (version: number) => `Changes since version ${version}`,
  first: 'This is the first version: there is nothing to compare it with.',
  text: (version: number) => `Version ${version}, whole text`,
  approve: 'Approve',
  reject: 'Reject',
  notAllowed:
    'The project’s owner and the editors of its space decide. You can read the text and the changes.',
  sendEdit: 'Save and approve',
  rejectTitle: 'Reject this version?',
  rejectText:
    'The agent works again, with this text and your reason, and its next version waits for approval again.',
  rejectReason: 'What should the agent change?',
  reasonMissing: 'Say what should change: the agent reads it.',
  decided: {
    approve: 'You have approved it. The run goes on.',
    edit: 'Your version is saved and approved. The run goes on.',
    reject: 'You have rejected it. The agent works again.',
  },
  stillWaiting: (n: number) =>
    n === 1 ? 'One more artifact of this run waits.' : `${n} more artifacts of this run wait.`,
  watch: 'Watch the run',
  nextOne: 'Next',
  elsewhere: {
    approve: (who: string, when: string) =>
      `${who} has approved this${when}. Your decision was not needed any more and was not taken.`,
    edit: (who: string, when: string) =>
      `${who} has replaced this text with their own version and approved it${when}. Your decision was not taken.`,
    reject: (who: string, when: string) =>
      `${who} has rejected this${when}, and the agent works again. Your decision was not taken.`,
    unknown:
      'This no longer waits: another person has decided, or the run was cancelled. Your decision was not taken.',
  },
  someone: 'Another person',
  at: (when: string) => ` (${when})`,
  theirReason: 'The reason given:',
  theirVersion: 'What they changed',
  draftKept: 'Your edit is kept below. Copy what you still need.',
  gone: 'This does not wait any more',
  goneText: 'It was decided, or its run was cancelled.',
  was: {
    approve: (who: string, when: string) => `${who} has approved it${when}.`,
    edit: (who: string, when: string) => `${who} has edited and approved it${when}.`,
    reject: (who: string, when: string) => `${who} has rejected it${when}, and the agent works again.`,
  },
};
