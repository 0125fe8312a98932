import { expect, test } from 'vitest';
import { draftOf, isShown, KINDS, secretOf, settingsOf } from './form';
import type { Source } from './source';

test('a new source of each kind has what the service assumes', () => {
  const { texts, every } = draftOf('web');
  expect([texts.mode, texts.depth, texts.pages, every]).toEqual(['pages', '3', '1000', '3600']);
  expect(settingsOf('imap', draftOf('imap').texts)).toMatchObject({ port: 993, mailbox: 'INBOX', tls: true });
  for (const kind of KINDS) expect(settingsOf(kind, draftOf(kind).texts)).toMatchObject({ kind });
});

test('an edited source keeps what the form does not show', () => {
  const settings = {
    kind: 'web',
    mode: 'crawl',
    addresses: ['https://a.example/'],
    depth: 2,
    pages: 5,
    delay: 250,
  };
  const source = { name: 'Docs', every: null, settings } as unknown as Source;
  const draft = draftOf('web', source);
  expect(draft).toMatchObject({ name: 'Docs', every: '' });
  expect(settingsOf('web', draft.texts, source)).toEqual(settings);
  draft.texts.addresses = ' https://a.example/ \n\nhttps://b.example/\n';
  expect(settingsOf('web', draft.texts, source)).toMatchObject({
    addresses: ['https://a.example/', 'https://b.example/'],
  });
});

test('depth and number of pages are asked for only if they count', () => {
  const shown = (mode: string) => ['depth', 'pages'].filter((name) => isShown('web', name, { mode }));
  expect([shown('pages'), shown('sitemap'), shown('crawl')]).toEqual([[], ['pages'], ['depth', 'pages']]);
});

test('a secret is sent only if it was typed or is dropped', () => {
  expect([secretOf('', false), secretOf('x', true), secretOf('', true)]).toEqual([
    {},
    { secret: 'x' },
    { secret: null },
  ]);
});
