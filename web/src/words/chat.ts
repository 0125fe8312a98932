import { formatNumber } from '$lib/format';
import { words as common } from './common';

const documents = (n: number) => (n === 1 ? '1 document' : `${formatNumber(n)} documents`);
const sums = (own: number, shared: number) =>
  shared === 0
    ? `your ${documents(own)}`
    : own === 0
      ? `the ${documents(shared)} of your spaces`
      : `your ${documents(own)} and the ${documents(shared)} of your spaces`;

export const words = {
  title: 'Ask',
  newConversation: 'New conversation',
  untitled: 'New conversation',
  list: {
    label: 'Conversations',
    open: 'Conversations',
    search: 'Search conversations',
    none: 'No conversation yet. Your first question starts one.',
    notFound: (text: string) => `No conversation has “${text}” in it.`,
    writing: 'An answer is being written',
    actions: (title: string) => `Actions for “${title}”`,
    rename: 'Rename',
    export: 'Export as Markdown',
    delete: 'Delete',
    deleted: (title: string) => `Deleted “${title}”`,
    notDeleted: (title: string, reason: string) => `“${title}” was not deleted: ${reason}`,
    refresh: 'The list could not be brought up to date.',
  },
  rename: {
    title: 'Rename the conversation',
    label: 'Title',
    empty: 'A title needs at least one character.',
  },
  missing: {
    title: 'There is no such conversation',
    text: 'It may have been deleted, or it belongs to another user.',
    action: 'Start a new conversation',
  },
  messages: {
    label: 'Messages',
    earlier: 'Show earlier messages',
    you: 'You',
    answer: 'Answer',
    newText: 'New text',
    toEnd: 'Go to the newest message',
  },
  question: {
    edit: 'Edit and ask again',
    label: 'Your question',
    again: 'Ask again',
    drops: (n: number) =>
      n === 1 ? 'Replaces the answer.' : `Replaces the ${formatNumber(n)} messages after it.`,
    copy: 'Copy the question',
  },
  answer: {
    copy: 'Copy the answer',
    copied: 'Copied',
    retry: 'Answer again',
    stopped: 'You stopped this answer.',
    searching: 'Searching the documents',
    writing: 'Writing the answer',
    lost: 'The connection is lost. The server keeps writing; the text appears here once the connection is back.',
    graph: 'Sources in the graph',
    by: (model: string) => `Answered by ${model}`,
    ready: (text: string) => `Answer: ${text}`,
    failed: (reason: string, text: string) => `The answer failed: ${reason}. ${text}`,
  },
  source: {
    label: common.source,
    list: 'Sources',
    others: (passages: number, documents: number) =>
      `Also looked at: ${passages === 1 ? '1 passage' : `${formatNumber(passages)} passages`} of ${
        documents === 1 ? '1 document' : `${formatNumber(documents)} documents`
      }`,
    othersList: 'Also looked at',
    passage: (number: number) => `Passage ${formatNumber(number)}`,
    page: (page: number) => `page ${page}`,
    open: 'Open in the reader',
    missing: 'This answer has no source with this number.',
  },
  scope: {
    only: 'Only in',
    one: 'Only in this document',
    several: 'Only in these documents',
    place: 'Only in this place',
    places: 'Only in these places',
    gone: 'A document that was deleted',
    remove: (title: string) => `Ask about more than “${title}”`,
    nothing: 'The model answers alone',
    noDocuments: 'No documents',
    justTalk: 'No documents: just talk',
    withDocuments: 'Answer from documents again',
    files: 'The attached files',
  },
  files: {
    label: 'Attached files',
    attach: 'Attach files',
    drop: 'Drop files here to ask about them',
    sending: (percent: number) => `Sending, ${percent} %`,
    reading: (percent: number) => (percent > 0 ? `Being read, ${percent} %` : 'Being read'),
    picture: 'For models that take pictures',
    remove: (name: string) => `Remove ${name}`,
    used: 'Answers come from the attached files.',
  },
  composer: {
    label: 'Your question',
    placeholder: 'Ask about your documents…',
    placeholderOne: 'Ask about this document…',
    placeholderFiles: 'Ask about the attached files…',
    placeholderTalk: 'Talk with the model…',
    send: 'Ask',
    waits: (files: number) =>
      files === 1 ? 'Asks when the file is read' : `Asks when ${formatNumber(files)} files are read`,
    wait: 'Do not wait',
    stop: 'Stop',
    agent: 'Kind of answer',
    provider: 'Model',
    noKey: (label: string) => `${label} (not configured)`,
    hint: 'Enter asks, Shift+Enter starts a new line.',
    tooLong: (bytes: string) => `A question has at most 32 KiB; this one has ${bytes}.`,
    focus: 'Write a question',
  },
  empty: {
    noDocuments: 'There is nothing to ask about yet',
    noDocumentsText: 'Add a document first. Answers are made from your documents, and cite them.',
    processingText: 'Your documents are still being read. You can ask as soon as the first one is ready.',
    add: 'Add a document',
    watch: 'Watch them being read',
    talk: 'Just talk with the model',
    justTalk: 'Talk with the model',
    justTalkText: 'The model answers from what it knows, without your documents and without sources.',
    askFiles: 'Ask about the attached files',
    askFilesText: 'Answers are made from these files only, and cite the passages they use.',
    ask: 'Ask about your documents',
    askThere: 'Ask about these places',
    askThereText: 'Answers are made from the documents there, and cite the passages they use.',
    askOne: 'Ask about this document',
    askOneText: 'Answers are made from this document only, and cite the passages they use.',
    askText: (own: number, shared: number) =>
      own === 1 && shared === 0
        ? 'The answer is made from your document, and cites the passages it uses.'
        : `Answers are made from ${sums(own, shared)}, and cite the passages they use.`,
    points: {
      label: 'The main points',
      question: (title: string) => `What are the main points of “${title}”?`,
    },
    facts: {
      label: 'Names, dates and numbers',
      question: (title: string) => `Which names, dates and numbers does “${title}” give?`,
    },
    compared: {
      label: 'Two documents compared',
      question: (one: string, other: string) =>
        `What do “${one}” and “${other}” have in common, and where do they differ?`,
    },
    connection: {
      label: 'How two names are connected',
      question: (one: string, other: string) => `How is ${one} connected with ${other}?`,
    },
  },
};
