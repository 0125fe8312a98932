import { address } from '$lib/address';
import { fetchOk } from '$lib/api/client';
import { type Document, documentsIn } from '$lib/documents.svelte';
import { href, router } from '$lib/router.svelte';
import { spaces } from '$lib/spaces/spaces.svelte';
import { toasts } from '$lib/toasts.svelte';
import type { Action } from '$lib/ui/Menu.svelte';
import { words } from '$words/documents';
import CalendarClock from '@lucide/svelte/icons/calendar-clock';
import ExternalLink from '@lucide/svelte/icons/external-link';
import History from '@lucide/svelte/icons/history';
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

  /** Indexes all documents of a space again, or of the user without an id. */
  reindexAll(spaceId: string): Promise<void> {
    const init = { method: 'POST', headers: { Prefer: 'respond-async' } };
    return this.#run(() => fetchOk('core', `/api/documents/reindex${of(spaceId)}`, init));
  }

  /** Deletes a document, unless that is undone within some seconds. */
  delete({ id, title, spaceId }: Document): void {
    const documents = documentsIn(spaceId);
    this.#undoable(documents, [id], words.deleted(title), path(id), () =>
      documents.tell({ type: 'removed', id }),
    );
  }

  /** Removes the documents of a place that failed. `shown` are those that the user sees at that moment. */
  purge(spaceId: string, shown: Document[]): void {
    const documents = documentsIn(spaceId);
    const ids = shown.filter(({ status }) => status === 'error').map(({ id }) => id);
    const text = words.purged(documents.counts?.error ?? ids.length);
    this.#undoable(documents, ids, text, `/api/documents/purge-errors${of(spaceId)}`, () => {
      for (const id of ids) documents.tell({ type: 'removed', id });
      documents.tell({ type: 'restart' });
    });
  }

  #undoable(
    documents: ReturnType<typeof documentsIn>,
    ids: string[],
    text: string,
    path: string,
    done: () => void,
  ): void {
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
        this.failed = {
          error: new Error(failed),
          again: () => this.#undoable(documents, ids, text, path, done),
        };
    });
  }

  async #post(id: string, what: 'cancel' | 'reindex'): Promise<void> {
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

/** Returns the menu of a document. Readers of a space do not see what only its editors may do. */
export function menuOf(document: Document): Action[] {
  const mayEdit = spaces.mayEdit(document.spaceId);
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
    {
      label: words.actions.versions,
      icon: History,
      run: () => router.setQuery({ versions: document.id }, { replace: false }),
    },
    ...(mayEdit ? changesOf(document) : []),
  ];
}

function changesOf(document: Document): Action[] {
  const again = document.status === 'error' ? words.actions.retry : words.actions.reindex;
  return [
    {
      label: words.actions.expiry,
      icon: CalendarClock,
      run: () => router.setQuery({ expiry: document.id }, { replace: false }),
    },
    ...(document.status === 'processing'
      ? [{ label: words.actions.cancel, icon: CircleX, run: () => void actions.cancel(document) }]
      : document.status === 'indexed' || canRetry(document)
        ? [{ label: again, icon: RotateCw, run: () => void actions.reindex(document) }]
        : []),
    { label: words.actions.delete, icon: Trash, danger: true, run: () => actions.delete(document) },
  ];
}

const of = (spaceId: string) => (spaceId ? `?spaceId=${encodeURIComponent(spaceId)}` : '');
const path = (id: string) => `/api/documents/${encodeURIComponent(id)}`;
