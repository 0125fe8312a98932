import { untrack } from 'svelte';
import { knowledge, ok } from './api/client';
import { followShared } from './api/shared-stream';
import type { StreamEvent } from './api/stream';
import type { Document, StatusCounts } from './api/types/knowledge';
import { session } from './session.svelte';

export type { Document };

/** What has become of the documents. After `restart`, anything may have changed. */
export type DocumentChange =
  | { type: 'document'; document: Document }
  | { type: 'removed'; id: string }
  | { type: 'documents'; ids: string[] }
  | { type: 'restart' };

type Listener = (change: DocumentChange) => void;

/** A document without progress for this long is said to be stuck. */
export const STUCK_AFTER = 60_000;

/** The live state of the user's documents: one stream of changes for all tabs of the browser. */
class Documents {
  /** How many documents there are in each state; null until the first answer. */
  counts = $state.raw<StatusCounts | null>(null);
  /** Why changes do not arrive at present. */
  trouble = $state<string | null>(null);
  /** Documents that are deleted as soon as it can no longer be undone. */
  hidden = $state.raw<ReadonlySet<string>>(new Set());

  #listeners = new Set<Listener>();
  #progress = new Map<string, { progress: number; at: number }>();
  #lastProgress = Date.now();
  #started = false;
  #counting: ReturnType<typeof setTimeout> | null = null;

  /** Starts following, for as long as a user is signed in. May be called often. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    $effect.root(() => {
      $effect(() => {
        const user = session.user?.id;
        if (session.state !== 'in' || !user) return;
        return untrack(() => this.#follow(user));
      });
    });
  }

  /** Calls back for each change, until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notes a document that came with an answer, so that its progress is timed from now on. */
  note({ id, status, progress }: Document): void {
    if (status !== 'processing') this.#progress.delete(id);
    else if (this.#progress.get(id)?.progress !== progress)
      this.#progress.set(id, { progress, at: Date.now() });
  }

  /** Returns how long a document has made no progress. One that waits is as late as the queue. */
  idle(document: Document, now: number): number {
    if (document.status !== 'processing') return 0;
    const at = this.#progress.get(document.id)?.at ?? now;
    return now - (document.progress === 0 ? Math.max(at, this.#lastProgress) : at);
  }

  hide(ids: Iterable<string>): void {
    this.hidden = new Set([...this.hidden, ...ids]);
  }

  show(ids: Iterable<string>): void {
    const shown = new Set(ids);
    this.hidden = new Set([...this.hidden].filter((id) => !shown.has(id)));
  }

  /** Tells all listeners of a change: one of the stream, or one that this page has made. */
  tell(change: DocumentChange): void {
    if (change.type === 'document') {
      this.note(change.document);
      this.#lastProgress = Date.now();
    }
    for (const listener of this.#listeners) listener(change);
    this.#countSoon();
  }

  #follow(user: string): () => void {
    return followShared({
      name: `stoa.documents.${user}`,
      service: 'core',
      path: (last) => `/api/documents/events${last ? `?lastEventId=${encodeURIComponent(last)}` : ''}`,
      onEvent: (event) => this.#take(event),
      onRestart: () => this.tell({ type: 'restart' }),
      onState: (trouble) => (this.trouble = trouble),
    });
  }

  #take({ event, data }: StreamEvent): void {
    if (event === 'document') this.tell({ type: 'document', document: data as Document });
    else if (event === 'removed') this.tell({ type: 'removed', id: (data as { id: string }).id });
    else if (event === 'documents') this.tell({ type: 'documents', ids: (data as { ids: string[] }).ids });
  }

  /** Counts again, at most twice a second: changes come in bursts. */
  #countSoon(): void {
    if (this.#counting) return;
    this.#counting = setTimeout(async () => {
      this.#counting = null;
      const page = await ok(knowledge.GET('/api/documents', { params: { query: { limit: 1 } } })).catch(
        () => null,
      );
      if (page) this.counts = page.counts;
    }, 500);
  }
}

export const documents = new Documents();
