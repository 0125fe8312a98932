import { fetchOk } from '$lib/api/client';
import { failure } from '$lib/api/failure';
import { type Document, documentsIn } from '$lib/documents.svelte';
import { toasts } from '$lib/toasts.svelte';
import { words } from '$words/documents';

/** What can be done with documents. What fails is kept until the next action, with a way to try it again. */
class DocumentActions {
  failed = $state.raw<{ error: unknown; again: () => void } | null>(null);

  cancel(document: Document): Promise<void> {
    return this.#run(() => this.post(document.id, 'cancel'));
  }

  reindex(document: Document): Promise<void> {
    return this.#run(() => this.post(document.id, 'reindex'));
  }

  /** Indexes all documents of a space again, or of the user without an id. */
  reindexAll(spaceId: string): Promise<void> {
    const init = { method: 'POST', headers: { Prefer: 'respond-async' } };
    return this.#run(() => fetchOk('core', `/api/documents/reindex${of(spaceId)}`, init));
  }

  /** Deletes a document, unless that is undone within some seconds. */
  delete({ id, title, spaceId }: Document): void {
    const documents = documentsIn(spaceId);
    this.undoable(documents, [id], words.deleted(title), () => this.remove(id, documents));
  }

  /** Deletes a document for good, also while the page is being closed. */
  async remove(id: string, documents: ReturnType<typeof documentsIn>): Promise<void> {
    await fetchOk('core', path(id), { method: 'DELETE', keepalive: true }).catch((thrown) => {
      // It is gone already.
      if (failure(thrown).status !== 404) throw thrown;
    });
    documents.tell({ type: 'removed', id });
  }

  /** Removes the documents of a place that failed. `shown` are those that the user sees at that moment. */
  purge(spaceId: string, shown: Document[]): void {
    const documents = documentsIn(spaceId);
    const ids = shown.filter(({ status }) => status === 'error').map(({ id }) => id);
    const text = words.purged(documents.counts?.error ?? ids.length);
    this.undoable(documents, ids, text, async () => {
      const path = `/api/documents/purge-errors${of(spaceId)}`;
      await fetchOk('core', path, { method: 'DELETE', keepalive: true });
      for (const id of ids) documents.tell({ type: 'removed', id });
      documents.tell({ type: 'restart' });
    });
  }

  /** Hides documents, and deletes them by `commit` after some seconds, unless that is undone. */
  undoable(
    documents: ReturnType<typeof documentsIn>,
    ids: string[],
    text: string,
    commit: () => Promise<void>,
  ): void {
    this.failed = null;
    documents.hide(ids);
    toasts.undoable(text, commit, (failed) => {
      documents.show(ids);
      if (failed)
        this.failed = {
          error: new Error(failed),
          again: () => this.undoable(documents, ids, text, commit),
        };
    });
  }

  /** Asks for work on a document, and shows what has become of it. */
  async post(id: string, what: 'cancel' | 'reindex'): Promise<void> {
    const response = await fetchOk('core', `${path(id)}/${what}`, { method: 'POST' });
    const { document } = await response.json();
    if (document) documentsIn(document.spaceId).tell({ type: 'document', document });
  }

  async #run(work: () => Promise<unknown>): Promise<void> {
    this.failed = null;
    try {
      await work();
    } catch (error) {
      this.failed = { error, again: () => void this.#run(work) };
    }
  }
}

export const actions = new DocumentActions();

/** What cannot be read, however often it is tried. */
const UNREADABLE = /^(audio|video)\/|^application\/octet-stream$/;

/** Returns whether a document that failed may succeed another time, as far as its size and type tell. */
export function canRetry({ size, mediaType }: Document): boolean {
  return size > 0 && !UNREADABLE.test(mediaType);
}

const of = (spaceId: string) => (spaceId ? `?spaceId=${encodeURIComponent(spaceId)}` : '');
export const path = (id: string) => `/api/documents/${encodeURIComponent(id)}`;
