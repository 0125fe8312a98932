import { href } from '$lib/router.svelte';
import type { Source } from './message.svelte';

export type Place = {
  documentId: string | null;
  title: string;
  headings: string;
  /** The innermost heading, if it says more than the title. */
  section: string | null;
  page: number | null;
  /** The name of the space that it is from; null for the user's own documents. */
  space: string | null;
};

/** Returns where a source stands. Sources that were given with a question need not say it. */
export function placeOf(source: Source): Place {
  const metadata = (source.metadata ?? {}) as Record<string, unknown>;
  const documentId = (source as { documentId?: unknown }).documentId;
  const found = Array.isArray(metadata.headings) ? metadata.headings : [];
  const headings = found.filter((heading): heading is string => typeof heading === 'string');
  const title = typeof metadata.documentTitle === 'string' ? metadata.documentTitle : source.id;
  const section = headings.at(-1) ?? null;
  return {
    documentId: typeof documentId === 'string' ? documentId : null,
    title,
    headings: headings.join(' › '),
    section: section === title ? null : section,
    page: typeof metadata.page === 'number' ? metadata.page : null,
    space: typeof metadata.spaceName === 'string' ? metadata.spaceName : null,
  };
}

/** Returns the address of the graph of an answer's sources. */
export function graphOf(sources: Source[]): string {
  return href('/graph', new URLSearchParams(sources.map(({ id }) => ['sources', id])));
}

const CODE = /```[\s\S]*?(?:```|$)|`[^`\n]*`/g;

/** Returns the numbers of the sources that a text cites. */
export function citedIn(text: string): Set<number> {
  const citations = text.replace(CODE, '').matchAll(/\[(\d{1,3})\](?!\()/g);
  return new Set([...citations].map(([, number]) => Number(number)));
}

/** A source with its number in the answer. */
export type Numbered = { number: number; source: Source; place: Place };

/** Returns sources by the documents that they are from, in the order of their first ones. */
export function byDocument(sources: Numbered[]): Numbered[][] {
  const documents = new Map<string, Numbered[]>();
  for (const numbered of sources) {
    const key = numbered.place.documentId ?? numbered.place.title;
    documents.set(key, [...(documents.get(key) ?? []), numbered]);
  }
  return [...documents.values()];
}
