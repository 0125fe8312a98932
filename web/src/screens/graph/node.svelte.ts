import { knowledge, ok } from '$lib/api/client';
import { type Failure, failure } from '$lib/api/failure';
import type { NodeDetails } from '$lib/api/types/knowledge';

/** A node with its documents, and the passages that name it as far as they are loaded. */
export class NodeReading {
  details = $state.raw<NodeDetails | null>(null);
  passages = $state.raw<NodeDetails['passages']>([]);
  problem = $state.raw<Failure | null>(null);
  loading = $state(false);
  #id: string;
  #spaceId: string[] | undefined;
  #next: string | null = null;

  /** `spaceId` names the places to look in; all if it is undefined. */
  constructor(id: string, spaceId: string[] | undefined) {
    this.#id = id;
    this.#spaceId = spaceId;
  }

  get hasMore(): boolean {
    return this.details !== null && this.passages.length < this.details.totalPassages && this.#next !== null;
  }

  /** Reads the node, or the next page of its passages. */
  async load(): Promise<void> {
    this.loading = true;
    try {
      const query = { limit: 20, after: this.#next ?? undefined, spaceId: this.#spaceId };
      const params = { path: { id: this.#id }, query };
      const page = await ok(knowledge.GET('/api/graph/nodes/{id}', { params }));
      this.#next = page.next ?? null;
      this.details = page;
      this.passages = [...this.passages, ...page.passages];
      this.problem = null;
    } catch (thrown) {
      this.problem = failure(thrown);
    } finally {
      this.loading = false;
    }
  }
}
