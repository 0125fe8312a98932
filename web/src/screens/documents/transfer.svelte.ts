import { knowledge, ok } from '$lib/api/client';
import { type Document, documentsIn } from '$lib/documents.svelte';
import { type Failed, inTurn } from '$lib/in-turn';
import { href, router } from '$lib/router.svelte';
import { spaces } from '$lib/spaces/spaces.svelte';
import { selection } from './selection.svelte';

export type TransferKind = 'move' | 'copy';

/** Documents on their way to another place: chosen, being moved or copied, and what came of it. */
class Transfer {
  asked = $state.raw<{ kind: TransferKind; documents: Document[] } | null>(null);
  busy = $state(false);
  done = $state(0);
  /** How many are there, and how many had been before; null until it has ended. */
  ended = $state.raw<{ spaceId: string; there: number; already: number } | null>(null);
  failed = $state.raw<Failed<Document>[]>([]);
  #stopped = false;

  ask(kind: TransferKind, documents: Document[]): void {
    this.#stopped = false;
    Object.assign(this, { asked: { kind, documents }, busy: false, done: 0, ended: null, failed: [] });
  }

  /** Closes the dialog. What is on its way arrives, and the rest stays. */
  close(): void {
    this.#stopped = true;
    this.asked = null;
  }

  /** Sends documents to a space, or to the user's own documents if it is empty. */
  async run(kind: TransferKind, documents: Document[], spaceId: string): Promise<void> {
    Object.assign(this, { busy: true, done: 0, failed: [] });
    let [there, already] = [0, 0];
    const send = async (document: Document) => {
      if (await this.#send(kind, document, spaceId)) already++;
      there++;
    };
    this.failed = await inTurn(documents, send, {
      done: () => this.done++,
      stopped: () => this.#stopped,
    });
    this.busy = false;
    this.ended = { spaceId, there, already };
    // Their numbers of documents have changed.
    void spaces.load();
  }

  /** Returns whether a copy was there already. */
  async #send(kind: TransferKind, document: Document, spaceId: string): Promise<boolean> {
    const init = { params: { path: { id: document.id } }, body: { spaceId: spaceId || undefined } };
    if (kind === 'copy') {
      const copied = await ok(knowledge.POST('/api/documents/{id}/copy', init));
      return Boolean(copied.duplicateOf);
    }
    const moved = await ok(knowledge.POST('/api/documents/{id}/move', init));
    documentsIn(document.spaceId).tell({ type: 'removed', id: document.id });
    documentsIn(spaceId).tell({ type: 'document', document: moved.document });
    selection.set([document], false);
    // One that is being read stays open.
    if (router.parts[0] === 'documents' && router.parts[1] === document.id)
      router.go(href(['documents', document.id], { spaceId }), { replace: true });
    return false;
  }
}

export const transfer = new Transfer();

/** Returns the places that documents can go to: all that the user may change, except where they are. */
export function destinations(from: string): string[] {
  const all = ['', ...spaces.list.filter(({ role }) => role === 'editor').map(({ id }) => id)];
  return all.filter((id) => id !== from);
}

/** Returns why a document cannot be moved now; null if it can. */
export function obstacle(document: Document): 'source' | 'inWork' | null {
  if (document.sourceId) return 'source';
  return document.status === 'processing' ? 'inWork' : null;
}
