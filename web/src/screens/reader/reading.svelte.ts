import { knowledge, ok } from '$lib/api/client';
import { type Document, documents } from '$lib/documents.svelte';
import type { DocumentText } from './sections';

/** A document that is being read: what is known of it, and its text as soon as there is one. */
export class Reading {
  document = $state.raw<Document | null>(null);
  text = $state.raw<DocumentText | null>(null);
  error = $state.raw<unknown>(null);
  loading = $state(true);
  readonly id: string;
  #asked = new AbortController();

  constructor(id: string) {
    this.id = id;
  }

  /** Loads the document and follows its changes, until the returned function is called. */
  open(): () => void {
    documents.start();
    const deaf = documents.listen((change) => {
      if (change.type === 'document' && change.document.id === this.id) this.#changed(change.document);
    });
    void this.load();
    return () => {
      deaf();
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
      documents.note(this.document);
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

  #changed(document: Document): void {
    const wasIndexed = this.document?.status === 'indexed';
    this.document = document;
    if (document.status === 'indexed' && !wasIndexed) void this.load();
  }
}
