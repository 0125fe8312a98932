import { expect, test } from 'vitest';
import { type DocumentText, onPages, sections } from './sections';

function document(text: string, rest: Partial<DocumentText> = {}): DocumentText {
  return {
    documentId: 'd',
    title: 't',
    text,
    truncated: false,
    pages: [],
    headings: [],
    passages: [],
    ...rest,
  };
}

const flat = (document: DocumentText, marked: { start: number; end: number } | null = null) =>
  sections(document, marked)
    .flat()
    .map((piece) =>
      piece.kind === 'text'
        ? piece.marked
          ? `[${piece.text}]`
          : piece.text
        : piece.kind === 'page'
          ? `p${piece.number}`
          : `#${piece.text}`,
    );

test('headings and pages stand before the text that they begin', () => {
  const text = 'One.\n\nTwo.\n\nThree.';
  const headings = [
    { level: 1, text: 'A', start: 6 },
    { level: 2, text: 'B', start: 6 },
  ];
  expect(
    flat(
      document(text, {
        headings,
        pages: [
          { number: 1, start: 0 },
          { number: 2, start: 6 },
        ],
      }),
    ),
  ).toEqual(['p1', 'One.', 'p2', '#A', '#B', 'Two.\n\nThree.']);
});

test('exactly the passage is marked, also across a heading', () => {
  const text = 'One two.\n\nThree four.';
  const headings = [{ level: 1, text: 'A', start: 10 }];
  expect(flat(document(text, { headings }), { start: 4, end: 15 })).toEqual([
    'One ',
    '[two.]',
    '#A',
    '[Three]',
    ' four.',
  ]);
});

test('without a passage nothing is marked', () => {
  expect(flat(document('One.'))).toEqual(['One.']);
  expect(flat(document(''))).toEqual([]);
});

test('a long text is cut into sections and loses nothing', () => {
  const text = Array.from({ length: 3000 }, (_, i) => `Line ${i} 😀`).join('\n\n');
  const cut = sections(document(text), { start: 20_000, end: 20_010 });
  expect(cut.length).toBeGreaterThan(3);
  const joined = cut
    .map((pieces) => pieces.map((piece) => (piece.kind === 'text' ? piece.text : '')).join(''))
    .join('\n\n');
  expect(joined).toBe(text);
});

test('a log of one block is cut between its lines', () => {
  const lines = Array.from({ length: 2000 }, (_, i) => `12:00:00 request ${i} was handled in 17 ms`);
  const cut = sections(document(lines.join('\n')), null);
  expect(cut.flatMap(([piece]) => (piece?.kind === 'text' ? piece.text.split('\n') : []))).toEqual(lines);
});

test('a block without a gap is cut between characters', () => {
  const text = '😀'.repeat(20_000);
  const cut = sections(document(text), null);
  expect(cut.length).toBeGreaterThan(2);
  // Half a character could not be encoded.
  for (const [piece] of cut)
    expect(() => encodeURIComponent(piece?.kind === 'text' ? piece.text : '')).not.toThrow();
});

test('a passage over two pages is on both', () => {
  const text = 'first page\n\nsecond page';
  const pages = [
    { number: 3, start: 0 },
    { number: 4, start: 12 },
  ];
  expect(onPages(document(text, { pages }), { start: 6, end: 18 })).toEqual([
    { page: 3, text: 'page\n\n' },
    { page: 4, text: 'second' },
  ]);
});
