import { formatNumber } from '$lib/format';

export const words = {
  title: 'Search',
  label: 'Search your documents',
  placeholder: 'A question, a name, some words…',
  start: {
    title: 'Find a passage in your documents',
    text: 'Type a question or some words. Results appear while you type.',
    noDocuments: 'There are no documents yet to search in.',
    add: 'Add files',
  },
  nothing: {
    title: 'Nothing found',
    text: 'No passage fits. Other words may help, or another kind of search.',
    filtered: 'No passage fits these filters.',
    clear: 'Clear the filters',
    ask: 'Ask instead',
  },
  results: (n: number) => (n === 1 ? '1 passage' : `${formatNumber(n)} passages`),
  nearest: 'Nothing matches these words closely. These are the nearest passages.',
  list: 'Passages found',
  searching: 'Searching',
  more: 'Show more',
  filters: 'Filters',
  filtersOn: (n: number) => `Filters, ${n} set`,
  mode: {
    label: 'Find by',
    graph: 'Meaning, words and connections',
    hybrid: 'Meaning and words',
    dense: 'Meaning',
    lexical: 'Words',
  },
  order: {
    label: 'Order',
    found: 'As found',
    judged: 'Read the first again (slower)',
  },
  category: 'Category',
  tags: 'Tags, separated by commas',
  document: 'Only in',
  allDocuments: 'all documents',
  thisDocument: 'Search in this document only',
  page: (page: number) => `Page ${page}`,
  loadingIndex: (read: number, total: number) =>
    `Your documents are being read for the first search: ${formatNumber(read)} of ${formatNumber(total)} passages. The search goes on by itself.`,
  reindexDue: (n: number) =>
    n === 1
      ? '1 document was indexed by another model and is found by its words only, until it is indexed again.'
      : `${formatNumber(n)} documents were indexed by another model and are found by their words only, until they are indexed again.`,
};
