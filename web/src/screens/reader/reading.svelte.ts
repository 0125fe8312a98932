import { knowledge, ok } from '$lib/api/client';
import { type Document, type DocumentChange, documents, documentsIn } from '$lib/documents.svelte';
import type { DocumentText } from './sections';

/** A document that is being read: what is known of it, and its text as soon as there is one. */
export class Reading {
  document = $state.raw<Document | null>(null);
  text = $state.raw<DocumentText | null>(null);
  error = $state.raw<unknown>(null);
  loading = $state(true);
  readonly id: string;
  #asked = new AbortController();
  #place = documents;
  #leave = () => {};

  constructor(id: string) {
    this.id = id;
  }

  /** Loads the document and follows its changes, until the returned function is called. */
  open(): () => void {
    documents.start();
    this.#leave = documents.listen((change) => this.#take(change));
    void this.load();
    return () => {
      this.#leave();
      this.#asked.abort();
    };
  }

  async load(): Promise<void> {
    this.#asked.abort();
    const { signal } = (this.#asked = new AbortController());
    this.loading = true;
    this.error = null;
    try {
      const call = { params: { path: { id: this.id } }, signal };
      this.document = await ok(knowledge.GET('/api/documents/{id}', call));
      this.#followPlace(this.document);
      // One that is indexed again keeps its text meanwhile; a new one has none yet.
      if (this.document.chunkCount > 0 || this.document.status === 'indexed') {
        this.text = await ok(knowledge.GET('/api/documents/{id}/text', call));
      }
    } catch (thrown) {
      if (!signal.aborted) this.error = thrown;
    } finally {
      if (!signal.aborted) this.loading = false;
    }
  }

  /** Follows the space that the document is in, from the first answer on. */
  #followPlace(document: Document): void {
    const place = documentsIn(document.spaceId);
    place.note(document);
    if (this.#place === place) return;
    this.#leave();
    this.#place = place;
    const [deaf, stop] = [place.listen((change) => this.#take(change)), place.follow()];
    this.#leave = () => {
      deaf();
      stop();
    };
  }

  #take(change: DocumentChange): void {
    if (change.type === 'document' && change.document.id === this.id) this.#changed(change.document);
  }

  #changed(document: Document): void {
    const isNewFile = this.document !== null && document.version !== this.document.version;
    const wasIndexed = this.document?.status === 'indexed' && !isNewFile;
    this.document = document;
    if (document.status === 'indexed' && !wasIndexed) void this.load();
  }
}
