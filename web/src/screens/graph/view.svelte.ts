import { knowledge, ok } from '$lib/api/client';
import { type Failure, failure } from '$lib/api/failure';
import type { Graph } from '$lib/api/types/knowledge';
import { href, router } from '$lib/router.svelte';
import { session } from '$lib/session.svelte';
import { readScope, requested, writeScope } from '$lib/spaces/scope';
import { combined, type Content, visible } from './content';

export const DEFAULT_LIMIT = 500;
/** Nodes that expanding around one adds at most. */
const MOST_AROUND = 100;

/** What the graph's screen shows. All of it is in the address; this reads it there and gets the graph for it. */
export class GraphView {
  #graphs = $state.raw<Graph[]>([]);
  problem = $state.raw<Failure | null>(null);
  loading = $state(true);
  #request: AbortController | null = null;

  readonly sources = $derived(router.query.getAll('sources'));
  readonly document = $derived(router.query.get('document'));
  readonly places = $derived(readScope(router.query.get('in')));
  /** The places, as requests name them; undefined for everything. */
  readonly spaceId = $derived(this.places.length > 0 ? requested(this.places, session.user?.id) : undefined);
  readonly expanded = $derived(router.query.getAll('expand'));
  readonly limit = $derived(Number(router.query.get('limit')) || DEFAULT_LIMIT);
  readonly strength = $derived(Number(router.query.get('strength')) || 0);
  readonly hidden = $derived(new Set((router.query.get('hide') ?? '').split(',').filter(Boolean)));
  readonly selected = $derived(router.query.get('node'));

  readonly content: Content = $derived(combined(this.#graphs));
  readonly shown = $derived(visible(this.content, { strength: this.strength, hidden: this.hidden }));
  readonly nodes = $derived(
    [...this.content.nodes.values()]
      .filter(({ id }) => this.shown.nodes.has(id))
      .sort((a, b) => b.strength - a.strength),
  );
  /** How many nodes there are, whether or not they are loaded. */
  readonly total = $derived(Math.max(this.#graphs[0]?.totals?.nodes ?? 0, this.content.nodes.size));
  readonly notice = $derived(this.#graphs.find(({ notice }) => notice)?.notice ?? null);
  /** What has to be asked for again if it changes. */
  readonly wanted = $derived(
    JSON.stringify([this.sources, this.document, this.limit, this.expanded, this.spaceId]),
  );

  async load(): Promise<void> {
    this.#request?.abort();
    const { signal } = (this.#request = new AbortController());
    this.loading = true;
    const { sources, document, limit, expanded, spaceId } = this;
    const get = (query: object) =>
      ok(knowledge.GET('/api/graph', { params: { query: { limit, spaceId, ...query } }, signal }));
    try {
      const first = get({ sources: sources.length ? sources : undefined, documentId: document ?? undefined });
      // A node that is gone since then costs its own surroundings only.
      const around = expanded.map((id) => get({ around: id, limit: MOST_AROUND }).catch(() => null));
      const graphs = await Promise.all([first, ...around]);
      this.#graphs = graphs.filter((graph) => graph !== null);
      this.problem = null;
    } catch (thrown) {
      if (!signal.aborted) this.problem = failure(thrown);
    } finally {
      if (!signal.aborted) this.loading = false;
    }
  }

  close(): void {
    this.#request?.abort();
  }

  select(id: string | null): void {
    const replace = this.selected !== null && id !== null;
    router.setQuery({ node: id, read: null, passage: null }, { replace });
  }

  /** Looks in some places only; in everything if there are none. What was chosen before may not be there. */
  look(places: string[]): void {
    router.setQuery({ in: writeScope(places), node: null, expand: null, read: null, passage: null });
  }

  /** Adds the surroundings of a node, and selects it. */
  expand(id: string): void {
    const query = new URLSearchParams(router.query);
    if (!this.expanded.includes(id)) query.append('expand', id);
    query.set('node', id);
    router.go(href(router.path, query));
  }

  /** Opens a document at a passage. */
  read(documentId: string, passageId: string | null): void {
    router.setQuery({ read: documentId, passage: passageId }, { replace: router.query.has('read') });
  }

  clearFilters(): void {
    router.setQuery({ strength: null, hide: null });
  }

  reset(): void {
    router.setQuery({ expand: null }, { replace: false });
  }
}
