import { untrack } from 'svelte';
import { knowledge, ok } from './api/client';
import { followShared } from './api/shared-stream';
import type { StreamEvent } from './api/stream';
import type { Document, DocumentList, StatusCounts } from './api/types/knowledge';
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

/** Counts that are older than this are replaced even by some that may be old as well, in milliseconds. */
const PATIENCE = 2000;

type StorageUse = DocumentList['storage'];

/**
 * The live state of the documents of one owner, the user or a space: one stream of changes for all tabs of the browser.
 * The user's own are followed as long as the user is signed in. A space is followed only by visible tabs that show it:
 * browsers allow six connections per origin.
 */
class Documents {
  /** How many documents there are in each state, without those that are being deleted; null until the first answer. */
  readonly counts = $derived.by(() => {
    const counts = this.#counted && { ...this.#counted };
    for (const id of counts ? this.hidden : []) this.#add(counts!, this.#statuses.get(id), -1);
    return counts;
  });
  /** How much is stored, and may be; null until the first answer. */
  storage = $state.raw<StorageUse | null>(null);
  /** Why changes do not arrive at present. */
  trouble = $state<string | null>(null);
  /** Documents that are deleted as soon as it can no longer be undone. */
  hidden = $state.raw<ReadonlySet<string>>(new Set());

  #counted = $state.raw<StatusCounts | null>(null);
  #statuses = new Map<string, Document['status']>();
  /** Rises with each change, so that an answer from before it is known as old. */
  #changes = 0;
  #countedAt = 0;
  #listeners = new Set<Listener>();
  #progress = new Map<string, { progress: number; at: number }>();
  #lastProgress = Date.now();
  #started = false;
  #counting: ReturnType<typeof setTimeout> | null = null;
  #followers = 0;
  #stop = () => {};

  constructor(/** Empty for the user's own. */ readonly spaceId: string) {}

  /** Follows until the returned function is called. Call it in `$effect`. */
  follow(): () => void {
    return untrack(() => {
      if (!this.spaceId) {
        this.start();
        return () => {};
      }
      if (this.#followers++ === 0) this.#stop = this.#followVisibly();
      return () => {
        if (--this.#followers === 0) this.#stop();
      };
    });
  }

  /** Starts following the user's own, for as long as a user is signed in. May be called often. */
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
    this.#statuses.set(id, status);
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

  /**
   * Runs a request for a list of documents, and takes the counts that come with it: what is listed and what is counted
   * are of the same moment then. Counts from before a change are not taken, unless changes never pause: others follow.
   */
  async counting<T extends { counts: StatusCounts; storage: StorageUse }>(
    list: () => Promise<T>,
  ): Promise<T> {
    const before = this.#changes;
    const page = await list();
    this.storage = page.storage;
    if (this.#changes === before || Date.now() - this.#countedAt > PATIENCE) {
      this.#counted = page.counts;
      this.#countedAt = Date.now();
    }
    return page;
  }

  /** Tells all listeners of a change: one of the stream, or one that this page has made. */
  tell(change: DocumentChange): void {
    this.#changes++;
    this.#count(change);
    if (change.type === 'document') {
      this.note(change.document);
      this.#lastProgress = Date.now();
    }
    for (const listener of this.#listeners) listener(change);
    this.#countSoon();
  }

  /** Follows a space while the tab is visible. */
  #followVisibly(): () => void {
    let stop: (() => void) | null = null;
    const look = () => {
      if (document.visibilityState === 'visible') stop ??= this.#follow(session.user?.id ?? '');
      else {
        stop?.();
        stop = null;
      }
    };
    look();
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      stop?.();
    };
  }

  #follow(user: string): () => void {
    const spaceId = this.spaceId;
    const query = (last: string | null) =>
      new URLSearchParams({ ...(spaceId && { spaceId }), ...(last && { lastEventId: last }) }).toString();
    return followShared({
      name: `stoa.documents.${user}${spaceId && `.${spaceId}`}`,
      service: 'core',
      path: (last) => `/api/documents/events${query(last) && `?${query(last)}`}`,
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

  /** Counts a change at once, as far as the state before it is known. */
  #count(change: DocumentChange): void {
    if (change.type !== 'document' && change.type !== 'removed') return;
    const id = change.type === 'document' ? change.document.id : change.id;
    const counts = this.#counted && { ...this.#counted };
    if (counts) {
      const before = this.#statuses.get(id);
      this.#add(counts, before, -1);
      // One that was not known yet is new if its work begins; otherwise it may have been counted already.
      if (change.type === 'document' && (before || change.document.status === 'processing'))
        this.#add(counts, change.document.status, 1);
    }
    if (change.type === 'removed') this.#statuses.delete(id);
    this.#counted = counts;
  }

  #add(counts: StatusCounts, status: Document['status'] | undefined, by: number): void {
    if (status) counts[status] = Math.max(0, counts[status] + by);
  }

  /** Counts again, at most twice a second: changes come in bursts. */
  #countSoon(): void {
    if (this.#counting) return;
    this.#counting = setTimeout(async () => {
      this.#counting = null;
      const query = { limit: 1, spaceId: this.spaceId || undefined };
      await this.counting(() => ok(knowledge.GET('/api/documents', { params: { query } }))).catch(() => null);
    }, 500);
  }
}

const known = new Map<string, Documents>();

/** Returns the documents of a space; without an id, the user's own. */
export function documentsIn(spaceId: string | null | undefined): Documents {
  if (!spaceId) return documents;
  const key = `${session.user?.id} ${spaceId}`;
  const found = known.get(key) ?? new Documents(spaceId);
  known.set(key, found);
  return found;
}

/** The user's own documents. */
export const documents = new Documents('');
