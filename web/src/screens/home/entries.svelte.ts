import { fetchOk, nextPage } from '$lib/api/client';
import { failure } from '$lib/api/failure';
import { toasts } from '$lib/toasts.svelte';
import { words } from '$words/home';
import { SvelteSet } from 'svelte/reactivity';
import { type Entries, type Kind, KINDS, idOf, inOrder, pathOf, titleOf } from './kinds';

/** The first request brings what Home shows; a long list asks for more as it is scrolled. */
const PAGE = 200;

/** The entries of a kind, as far as they were read. */
class EntryList<K extends Kind> {
  kind: K;
  #all = $state.raw<Entries[K][]>([]);
  /** Those whose deletion can still be undone. */
  #hidden = new SvelteSet<string>();
  #next: string | null = null;
  #busy = false;
  loaded = $state(false);
  error = $state.raw<unknown>(null);
  /** A change or a deletion that failed. */
  notDone = $state<string | null>(null);
  shown = $derived.by(() => inOrder(this.kind, this.#all).filter((entry) => !this.#hidden.has(idOf(entry))));

  constructor(kind: K) {
    this.kind = kind;
  }

  /** Reads the first page again; what is there stays until the answer comes. */
  async load(): Promise<void> {
    await this.#read(null);
  }

  async more(): Promise<void> {
    if (this.#next && !this.#busy) await this.#read(this.#next);
  }

  async #read(after: string | null): Promise<void> {
    this.#busy = true;
    try {
      const query = `?limit=${PAGE}${after ? `&after=${encodeURIComponent(after)}` : ''}`;
      const response = await fetchOk('kv', pathOf(this.kind) + query);
      const entries: Entries[K][] = await response.json();
      this.#all = after ? [...this.#all, ...entries] : entries;
      this.#next = nextPage(response.headers);
      this.loaded = true;
      this.error = null;
    } catch (thrown) {
      this.error = thrown;
    } finally {
      this.#busy = false;
    }
  }

  find(id: string): Entries[K] | undefined {
    return this.#all.find((entry) => entry.id === id);
  }

  /** Puts a new or changed entry into the list. */
  put(entry: Entries[K]): void {
    const known = this.#all.some(({ id }) => id === entry.id);
    this.#all = known ? this.#all.map((old) => (old.id === entry.id ? entry : old)) : [entry, ...this.#all];
  }

  /** Changes fields of an entry. What is shown changes at once, and back if that fails. */
  async change(entry: Entries[K], fields: Partial<Entries[K]>): Promise<void> {
    this.notDone = null;
    this.put({ ...entry, ...fields });
    try {
      const init = { method: 'PATCH', body: JSON.stringify(fields) };
      this.put(await (await fetchOk('kv', pathOf(this.kind, entry.id), init)).json());
    } catch (thrown) {
      this.put(entry);
      this.notDone = words.notChanged(titleOf(entry), failure(thrown).message);
    }
  }

  /** Deletes an entry once its deletion can no longer be undone. */
  remove(entry: Entries[K]): void {
    const { id } = entry;
    this.#hidden.add(id);
    this.notDone = null;
    const commit = async () => {
      await fetchOk('kv', pathOf(this.kind, id), { method: 'DELETE', keepalive: true });
      this.#all = this.#all.filter((other) => other.id !== id);
      this.#hidden.delete(id);
    };
    toasts.undoable(words.deleted(titleOf(entry)), commit, (why) => {
      this.#hidden.delete(id);
      if (why) this.notDone = words.notDeleted(titleOf(entry), why);
    });
  }
}

/** The entries of all kinds. They stay while another screen is open, so that Back shows them at once. */
export const entries: { [K in Kind]: EntryList<K> } = {
  update: new EntryList('update'),
  goal: new EntryList('goal'),
  task: new EntryList('task'),
  tool: new EntryList('tool'),
  page: new EntryList('page'),
};

export function listOf(kind: Kind): EntryList<Kind> {
  return entries[kind] as unknown as EntryList<Kind>;
}

export async function loadAll(): Promise<void> {
  await Promise.all(KINDS.map((kind) => entries[kind].load()));
}
