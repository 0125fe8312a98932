import { href } from '$lib/router.svelte';
import type { Source } from './message.svelte';

export type Place = { documentId: string | null; title: string; headings: string; page: number | null };

/** Returns where a source stands. Sources that were given with a question need not say it. */
export function placeOf(source: Source): Place {
  const metadata = (source.metadata ?? {}) as Record<string, unknown>;
  const documentId = (source as { documentId?: unknown }).documentId;
  const headings = Array.isArray(metadata.headings) ? metadata.headings : [];
  return {
    documentId: typeof documentId === 'string' ? documentId : null,
    title: typeof metadata.documentTitle === 'string' ? metadata.documentTitle : source.id,
    headings: headings.filter((heading) => typeof heading === 'string').join(' › '),
    page: typeof metadata.page === 'number' ? metadata.page : null,
  };
}

/** Returns the address of the graph of an answer's sources. */
export function graphOf(sources: Source[]): string {
  return href('/graph', new URLSearchParams(sources.map(({ id }) => ['sources', id])));
}
