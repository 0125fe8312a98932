import { formatNumber } from '$lib/format';

const plural = (n: number, one: string, many: string) => `${formatNumber(n)} ${n === 1 ? one : many}`;

export const words = {
  title: 'Graph',
  types: {
    concept: 'Concept',
    person: 'Person',
    organization: 'Organization',
    place: 'Place',
    event: 'Event',
    product: 'Product or program',
    term: 'Other name',
  },
  otherType: 'Other',
  find: {
    label: 'Find a name or concept',
    nothing: 'Nothing has this in its name.',
  },
  views: { label: 'View', drawing: 'Drawing', list: 'List' },
  count: (n: number, all: number) =>
    n === all ? plural(n, 'name', 'names') : `${formatNumber(n)} of ${plural(all, 'name', 'names')}`,
  limit: 'Names shown at most',
  strength: 'Weakest connection',
  atLeast: (strength: number) => (strength === 0 ? 'all' : `${Math.round(strength * 100)} % and up`),
  legend: 'Kinds of names',
  hide: (type: string) => `Hide: ${type}`,
  show: (type: string) => `Show: ${type}`,
  drawing: (nodes: number, edges: number) =>
    `Drawing of ${plural(nodes, 'name', 'names')} and ${plural(edges, 'connection', 'connections')}. The list shows the same.`,
  arranging: 'Arranging',
  zoomIn: 'Closer',
  zoomOut: 'Farther',
  fit: 'Show all',
  noWebGl: 'This browser cannot draw the graph (it has no WebGL). The list shows the same.',
  sources: 'Sources of an answer',
  ofDocument: 'Of one document',
  whole: 'Show the whole graph',
  expanded: (n: number) => `Expanded around ${plural(n, 'name', 'names')}`,
  reset: 'Undo expanding',
  loading: 'Reading the graph',
  empty: {
    title: 'The graph is empty',
    text: 'It shows the names and concepts of your documents, and which of them are mentioned together.',
    add: 'Add a document',
  },
  emptyPlaces: {
    title: 'The graph is empty there',
    text: 'The documents of these places mention no names or concepts, or there are none yet.',
    action: 'Look everywhere',
  },
  emptySources: {
    title: 'These sources name nothing that is in the graph',
    text: 'The passages of this answer mention no names or concepts, or their documents have changed since.',
  },
  filtered: 'Nothing is left with these filters.',
  clear: 'Clear the filters',
  list: {
    label: 'Names and concepts',
    documents: (n: number) => plural(n, 'document', 'documents'),
    connections: (n: number) => plural(n, 'connection', 'connections'),
  },
  node: {
    expand: 'Expand around it',
    expanding: 'Expanding',
    connected: 'Connected with',
    notShown: 'Nothing that is shown now. Expand around it to see more.',
    documents: 'Documents',
    passages: (n: number) => (n === 1 ? '1 passage' : `${formatNumber(n)} passages`),
    passagesTitle: 'Passages',
    page: (page: number) => `page ${page}`,
    more: 'Show more passages',
    moreConnections: (n: number) => `Show ${formatNumber(n)} more`,
    ask: 'Ask about it',
    question: (label: string) => `What do the documents say about ${label}?`,
  },
};
