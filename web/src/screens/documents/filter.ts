import type { Document } from '$lib/documents.svelte';

export const SORTS = ['newest', 'oldest', 'title', 'size'] as const;
export const STATUSES = ['processing', 'indexed', 'error'] as const;
export type Sort = (typeof SORTS)[number];
export type Status = (typeof STATUSES)[number];

/** Which documents are listed, and in what order. */
export type Filter = {
  /** Whose documents: those of a space, or the user's own if it is empty. */
  spaceId: string;
  status: Status | null;
  title: string;
  category: string;
  tags: string;
  sort: Sort;
};

export function readFilter(query: URLSearchParams): Filter {
  return {
    spaceId: query.get('spaceId') ?? '',
    status: STATUSES.find((status) => status === query.get('status')) ?? null,
    title: query.get('title') ?? '',
    category: query.get('category') ?? '',
    tags: query.get('tags') ?? '',
    sort: SORTS.find((sort) => sort === query.get('sort')) ?? 'newest',
  };
}

export function isFiltered({ status, title, category, tags }: Filter): boolean {
  return Boolean(status || title || category || tags);
}

/** Returns the filter as parameters of the address and of the request. */
export function parameters(filter: Filter): Record<string, string> {
  const sort = filter.sort === 'newest' ? '' : filter.sort;
  const all = {
    spaceId: filter.spaceId,
    status: filter.status ?? '',
    title: filter.title,
    category: filter.category,
    tags: filter.tags,
    sort,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}

/** Returns whether the server would list a document with this filter. */
export function fits(document: Document, { status, title, category, tags }: Filter): boolean {
  const has = (own: string | undefined, wanted: string) => (own ?? '').toLowerCase() === wanted.toLowerCase();
  const own = split(document.metadata.tags ?? '');
  return (
    (!status || document.status === status) &&
    document.title.toLowerCase().includes(title.toLowerCase()) &&
    (!category || has(document.metadata.category, category)) &&
    split(tags).every((tag) => own.includes(tag))
  );
}

const split = (tags: string) =>
  tags
    .split(',')
    .map((tag) => tag.trim().toLowerCase())
    .filter(Boolean);

/** Returns whether the user has ended the work on a document. */
export function isCancelled({ status, metadata }: Document): boolean {
  return status === 'error' && (metadata.error ?? '').startsWith('cancelled');
}

/** Compares two documents in the order of the list. */
export function compare(a: Document, b: Document, sort: Sort): number {
  const byId = a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  if (sort === 'title') return a.title < b.title ? -1 : a.title > b.title ? 1 : byId;
  if (sort === 'size') return b.size - a.size || byId;
  const older = a.uploadedAt - b.uploadedAt || byId;
  return sort === 'oldest' ? older : -older;
}
