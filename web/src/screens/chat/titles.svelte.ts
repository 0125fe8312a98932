import { knowledge, ok } from '$lib/api/client';
import { failure } from '$lib/api/failure';
import { SvelteMap } from 'svelte/reactivity';

/** The titles of documents that questions are limited to. Each is read once. */
class DocumentTitles {
  #titles = new SvelteMap<string, string | null>();
  #asked = new Set<string>();

  /** Returns the title of a document: undefined until it is known, null if there is no such document. */
  of(id: string): string | null | undefined {
    if (!this.#asked.has(id)) void this.#read(id);
    return this.#titles.get(id);
  }

  async #read(id: string): Promise<void> {
    this.#asked.add(id);
    try {
      const { title } = await ok(knowledge.GET('/api/documents/{id}', { params: { path: { id } } }));
      this.#titles.set(id, title);
    } catch (thrown) {
      if (failure(thrown).status === 404) this.#titles.set(id, null);
      else this.#asked.delete(id);
    }
  }
}

export const titles = new DocumentTitles();
