import { fetchOk } from '$lib/api/client';
import type { DocumentList as Answer } from '$lib/api/types/knowledge';
import { type Document, type DocumentChange, documentsIn } from '$lib/documents.svelte';
import { session } from '$lib/session.svelte';
import { compare, type Filter, fits, parameters } from './filter';

type Page = { documents: Document[]; next: string | null };

/** How many documents the first page has: some screens full, and quick to read. Further ones have more. */
const FIRST_PAGE = 200;
const PAGE = 500;
const LARGEST_PAGE = 1000;

/** The documents that fit a filter, loaded page by page and kept up to date by the stream of changes. */
export class DocumentList {
  items = $state.raw<Document[]>([]);
  loading = $state(false);
  /** Whether the first page has arrived. */
  ready = $state(false);
  error = $state.raw<unknown>(null);
  readonly filter: Filter;
  /** The cursor of the next page; null after the last. */
  #next: string | null = '';
  #stale = false;
  /** Changes that came while a page was loaded, which may be from before them. */
  #meanwhile: DocumentChange[] = [];
  #deaf: () => void;
  readonly #live: ReturnType<typeof documentsIn>;

  constructor(filter: Filter) {
    this.filter = filter;
    this.#live = documentsIn(filter.spaceId);
    this.#deaf = this.#live.listen((change) => this.#take(change));
    void this.more();
  }

  get complete(): boolean {
    return this.ready && this.#next === null;
  }

  /** Loads the next page, if there is one and none is on its way. */
  async more(): Promise<void> {
    if (this.loading || this.#next === null || this.error) return;
    await this.#load(async () => {
      const page = await this.#page(this.#next ?? '', this.ready ? PAGE : FIRST_PAGE);
      this.#append(page.documents);
      this.#next = page.next;
    });
  }

  async retry(): Promise<void> {
    this.error = null;
    await (this.#stale ? this.#reload() : this.more());
  }

  close(): void {
    this.#deaf();
  }

  /** Reads all that was loaded again: changes may have been missed. */
  async #reload(): Promise<void> {
    this.#stale = true;
    if (this.loading) return;
    await this.#load(async () => {
      this.#stale = false;
      const wanted = this.items.length;
      let found: Document[] = [];
      let next: string | null = '';
      do {
        const page: Page = await this.#page(
          next,
          Math.max(FIRST_PAGE, Math.min(LARGEST_PAGE, wanted - found.length)),
        );
        found = [...found, ...page.documents];
        next = page.next;
      } while (next !== null && found.length < wanted);
      [this.items, this.#next] = [found, next];
    });
  }

  async #load(work: () => Promise<void>): Promise<void> {
    this.loading = true;
    try {
      await work();
      this.ready = true;
      this.error = null;
    } catch (thrown) {
      this.error = thrown;
    } finally {
      this.loading = false;
    }
    for (const change of this.#meanwhile.splice(0)) this.#take(change);
    if (this.#stale && !this.error) await this.#reload();
  }

  /** Reads a page. One may be empty without being the last: few documents fit the filter, then. */
  async #page(after: string, limit: number): Promise<Page> {
    let page: Page = { documents: [], next: after };
    do {
      const query = new URLSearchParams({ ...parameters(this.filter), limit: String(limit) });
      if (page.next) query.set('after', page.next);
      page = await this.#live.counting(() => this.#get(query));
    } while (page.documents.length === 0 && page.next !== null);
    page.documents.forEach((document) => this.#live.note(document));
    return page;
  }

  async #get(query: URLSearchParams): Promise<Answer & Page> {
    return (await fetchOk('core', `/api/documents?${query}`)).json();
  }

  #append(more: Document[]): void {
    const known = new Set(this.items.map(({ id }) => id));
    this.items = [...this.items, ...more.filter(({ id }) => !known.has(id))];
  }

  #take(change: DocumentChange): void {
    if (this.loading && change.type !== 'restart') this.#meanwhile.push(change);
    if (change.type === 'restart') void (this.ready && this.#reload());
    else if (change.type === 'removed') this.items = this.items.filter(({ id }) => id !== change.id);
    else if (change.type === 'documents') {
      const left = new Set(change.ids);
      this.items = this.items.filter(({ id }) => left.has(id));
    } else this.#place(change.document);
  }

  /** Puts a new or changed document where it belongs, unless that is on a page that is not loaded yet. */
  #place(document: Document): void {
    const at = this.items.findIndex(({ id }) => id === document.id);
    const { sort } = this.filter;
    const wanted = fits(document, this.filter);
    if (at >= 0 && wanted && compare(this.items[at]!, document, sort) === 0) {
      this.items = this.items.with(at, document);
      return;
    }
    const others = at >= 0 ? this.items.toSpliced(at, 1) : this.items;
    const before = others.findIndex((other) => compare(other, document, sort) > 0);
    if (wanted && (before >= 0 || this.#next === null)) {
      this.items = others.toSpliced(before >= 0 ? before : others.length, 0, document);
    } else if (at >= 0) this.items = others;
  }
}

/** Lists that Back may return to: the same rows are there at once, and so is the scroll position. */
const MOST_KEPT = 4;
const kept = new Map<string, DocumentList>();

export function documentList(filter: Filter): DocumentList {
  const key = `${session.user?.id} ${new URLSearchParams(parameters(filter))}`;
  const list = kept.get(key) ?? new DocumentList(filter);
  kept.delete(key);
  kept.set(key, list);
  for (const [oldest, { close }] of kept) {
    if (kept.size <= MOST_KEPT) break;
    close.call(kept.get(oldest));
    kept.delete(oldest);
  }
  return list;
}
