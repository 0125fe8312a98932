import { address } from '$lib/address';
import { fetchOk } from '$lib/api/client';
import { type Document, documents } from '$lib/documents.svelte';
import { href } from '$lib/router.svelte';
import { toasts } from '$lib/toasts.svelte';
import type { Action } from '$lib/ui/Menu.svelte';
import { words } from '$words/documents';
import ExternalLink from '@lucide/svelte/icons/external-link';
import MessageCircle from '@lucide/svelte/icons/message-circle';
import RotateCw from '@lucide/svelte/icons/rotate-cw';
import CircleX from '@lucide/svelte/icons/circle-x';
import Search from '@lucide/svelte/icons/search';
import Trash from '@lucide/svelte/icons/trash-2';
import Waypoints from '@lucide/svelte/icons/waypoints';

/** What can be done with documents. What fails is kept until the next action, with a way to try it again. */
class DocumentActions {
  failed = $state.raw<{ error: unknown; again: () => void } | null>(null);

  cancel(document: Document): Promise<void> {
    return this.#run(() => this.#post(document.id, 'cancel'));
  }

  reindex(document: Document): Promise<void> {
    return this.#run(() => this.#post(document.id, 'reindex'));
  }

  reindexAll(): Promise<void> {
    const init = { method: 'POST', headers: { Prefer: 'respond-async' } };
    return this.#run(() => fetchOk('core', '/api/documents/reindex', init));
  }

  /** Deletes a document, unless that is undone within some seconds. */
  delete({ id, title }: Document): void {
    this.#undoable([id], words.deleted(title), path(id), () => documents.tell({ type: 'removed', id }));
  }

  /** Removes the documents that failed. `shown` are those that the user sees at that moment. */
  purge(shown: Document[]): void {
    const ids = shown.filter(({ status }) => status === 'error').map(({ id }) => id);
    const text = words.purged(documents.counts?.error ?? ids.length);
    this.#undoable(ids, text, '/api/documents/purge-errors', () => {
      for (const id of ids) documents.tell({ type: 'removed', id });
      documents.tell({ type: 'restart' });
    });
  }

  #undoable(ids: string[], text: string, path: string, done: () => void): void {
    this.failed = null;
    documents.hide(ids);
    const commit = async () => {
      // Carried out also while the page is being closed.
      await fetchOk('core', path, { method: 'DELETE', keepalive: true });
      done();
    };
    toasts.undoable(text, commit, (failed) => {
      documents.show(ids);
      if (failed)
        this.failed = { error: new Error(failed), again: () => this.#undoable(ids, text, path, done) };
    });
  }

  async #post(id: string, what: 'cancel' | 'reindex'): Promise<void> {
    const response = await fetchOk('core', `${path(id)}/${what}`, { method: 'POST' });
    const { document } = await response.json();
    if (document) documents.tell({ type: 'document', document });
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
const UNREADABLE = /^(audio|image|video)\/|^application\/(octet-stream|zip)$/;

/** Returns whether a document that failed may succeed another time, as far as its size and type tell. */
export function canRetry({ size, mediaType }: Document): boolean {
  return size > 0 && !UNREADABLE.test(mediaType);
}

/** Returns the menu of a document. */
export function menuOf(document: Document): Action[] {
  const again = document.status === 'error' ? words.actions.retry : words.actions.reindex;
  return [
    {
      label: words.actions.open,
      icon: ExternalLink,
      run: () => open(address('core', `${path(document.id)}/content`), '_blank', 'noopener'),
    },
    ...(document.status === 'indexed'
      ? [
          {
            label: words.actions.ask,
            icon: MessageCircle,
            href: href('/chat', { document: document.id }),
          },
          { label: words.actions.search, icon: Search, href: href('/search', { documentId: document.id }) },
          { label: words.actions.graph, icon: Waypoints, href: href('/graph', { document: document.id }) },
        ]
      : []),
    ...(document.status === 'processing'
      ? [{ label: words.actions.cancel, icon: CircleX, run: () => void actions.cancel(document) }]
      : document.status === 'indexed' || canRetry(document)
        ? [{ label: again, icon: RotateCw, run: () => void actions.reindex(document) }]
        : []),
    { label: words.actions.delete, icon: Trash, danger: true, run: () => actions.delete(document) },
  ];
}

const path = (id: string) => `/api/documents/${encodeURIComponent(id)}`;
