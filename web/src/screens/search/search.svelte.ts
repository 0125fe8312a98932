import { fetchOk } from '$lib/api/client';
import { failure } from '$lib/api/failure';
import type { SearchAnswer as Answer, SearchResult as Result } from '$lib/api/types/knowledge';
import { readScope, requested } from '$lib/spaces/scope';
import { untrack } from 'svelte';

export type { Answer, Result };

export const MODES = ['graph', 'hybrid', 'dense', 'lexical'] as const;
/** How many results are asked for, at first and as more are wanted. */
export const COUNTS = [20, 50, 100];

/** What the address may say beside what is searched for. */
export const FILTERS = ['mode', 'rerank', 'category', 'tags', 'documentId'];

/** A pause in typing. */
const PAUSE = 180;
const MOST_KEPT = 30;
const kept = new Map<string, Answer>();

/** Returns the request of a user for an address of the search screen; empty if nothing is searched for. */
export function requestOf(query: URLSearchParams, userId: string | undefined): string {
  const text = query.get('q')?.trim();
  if (!text) return '';
  const count = COUNTS.find((count) => String(count) === query.get('top')) ?? COUNTS[0];
  const request = new URLSearchParams({ query: text, topK: String(count) });
  for (const name of FILTERS) if (query.get(name)) request.set(name, query.get(name)!);
  for (const id of requested(readScope(query.get('in')), userId)) request.append('spaceId', id);
  return request.toString();
}

/** The passages that were found for a request. The ones before stay until the next are there. */
export class Search {
  answer = $state.raw<Answer | null>(null);
  /** The request that `answer` is for. */
  answered = $state('');
  searching = $state(false);
  error = $state.raw<unknown>(null);
  /** How far the first search is in reading the documents. */
  reading = $state.raw<{ read: number; total: number } | null>(null);

  /** Asks the last request again. */
  retry: () => void = () => {};

  /** Asks after a pause, and returns a function that breaks off. Call it in `$effect`. */
  ask(request: string): () => void {
    return untrack(() => {
      const known = kept.get(request);
      if (known || !request) {
        this.#show(request, known ?? null);
        return () => {};
      }
      const broken = new AbortController();
      this.searching = true;
      this.retry = () => void this.#load(request, broken.signal);
      const timer = setTimeout(this.retry, this.answered ? PAUSE : 0);
      return () => {
        clearTimeout(timer);
        broken.abort();
        this.searching = false;
      };
    });
  }

  async #load(request: string, signal: AbortSignal): Promise<void> {
    this.searching = true;
    this.error = null;
    try {
      const answer: Answer = await (await fetchOk('core', `/api/search?${request}`, { signal })).json();
      if (kept.size >= MOST_KEPT) kept.clear();
      kept.set(request, answer);
      // A document that is indexed meanwhile is found by the next search.
      setTimeout(() => kept.delete(request), 60_000);
      this.#show(request, answer);
    } catch (thrown) {
      if (signal.aborted) return;
      const reason = failure(thrown);
      const body = reason.body as { passagesRead?: number; passages?: number } | null;
      if (reason.code === 'INDEX_LOADING') {
        this.reading = { read: body?.passagesRead ?? 0, total: body?.passages ?? 0 };
        const pause = Math.max(1000, (reason.resetAt ?? 0) - Date.now());
        const timer = setTimeout(this.retry, pause);
        signal.addEventListener('abort', () => clearTimeout(timer));
        return;
      }
      this.error = reason;
      this.searching = false;
    }
  }

  #show(request: string, answer: Answer | null): void {
    Object.assign(this, { answer, answered: request, searching: false, error: null, reading: null });
  }
}
