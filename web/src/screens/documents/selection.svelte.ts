import { type Document, documentsIn } from '$lib/documents.svelte';
import { inTurn } from '$lib/in-turn';
import { words } from '$words/documents';
import { actions, canRetry } from './actions.svelte';

/** The documents that the user has ticked off in the list. */
class Selection {
  ids = $state.raw<ReadonlySet<string>>(new Set());

  /** Returns those of a list that are selected. */
  of(shown: Document[]): Document[] {
    return shown.filter(({ id }) => this.ids.has(id));
  }

  set(documents: Document[], selected: boolean): void {
    const changed = documents.map(({ id }) => id);
    const others = [...this.ids].filter((id) => !changed.includes(id));
    this.ids = new Set(selected ? [...others, ...changed] : others);
  }

  clear(): void {
    this.ids = new Set();
  }

  /** Indexes the selected documents again. */
  async reindex(documents: Document[]): Promise<void> {
    this.clear();
    actions.failed = null;
    const failed = await inTurn(documents.filter(canReindex), ({ id }) => actions.post(id, 'reindex'));
    const [first] = failed;
    if (first)
      actions.failed = {
        error: first.error,
        again: () => void this.reindex(failed.map(({ item }) => item)),
      };
  }

  /** Deletes documents, unless that is undone within some seconds. */
  delete(documents: Document[]): void {
    const [first] = documents;
    if (!first) return;
    this.clear();
    const ids = documents.map(({ id }) => id);
    const text = ids.length === 1 ? words.deleted(first.title) : words.deletedSome(ids.length);
    const place = documentsIn(first.spaceId);
    // All at once, so that they are on their way also if the page is being closed.
    const removeAll = () =>
      inTurn(ids, (id) => actions.remove(id, place), { atOnce: ids.length }).then(([failed]) => {
        if (failed) throw failed.error;
      });
    actions.undoable(place, ids, text, removeAll);
  }
}

/** Returns whether a document can be indexed again now. */
export function canReindex(document: Document): boolean {
  return document.status === 'indexed' || (document.status === 'error' && canRetry(document));
}

export const selection = new Selection();
