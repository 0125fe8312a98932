import { untrack } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';
import { knowledge, ok } from '../api/client';
import { failure } from '../api/failure';
import type { Space } from '../api/types/knowledge';
import { session } from '../session.svelte';

export type { Space };
export type Role = 'reader' | 'editor';

/** The spaces that the user has a role in, by name. */
class Spaces {
  list = $state.raw<Space[]>([]);
  /** Whether the list has been read. */
  loaded = $state(false);
  mayCreate = $state(false);
  error = $state.raw<unknown>(null);
  /** Spaces that an administrator has no role in, by their ids; null if there is none with the id. */
  #others = new SvelteMap<string, Space | null>();
  #asked = new Set<string>();
  #started = false;

  /** Reads the list for each user who signs in. May be called often. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    $effect.root(() => {
      let of: string | undefined;
      $effect(() => {
        const user = session.user?.id;
        if (session.state !== 'in' || !user) return;
        untrack(() => {
          if (user !== of) Object.assign(this, { list: [], loaded: false, mayCreate: false });
          this.#others.clear();
          this.#asked.clear();
          of = user;
          void this.load();
        });
      });
    });
  }

  async load(): Promise<void> {
    const user = session.user?.id;
    try {
      const answer = await ok(knowledge.GET('/api/spaces', { params: { query: {} } }));
      if (session.user?.id !== user) return;
      Object.assign(this, { list: answer.spaces, mayCreate: answer.mayCreate, loaded: true, error: null });
    } catch (thrown) {
      this.error = thrown;
    }
  }

  get(id: string | null | undefined): Space | undefined {
    return this.list.find((space) => space.id === id);
  }

  /** As `get`, also for a space that an administrator has no role in. Null if there is no such space. */
  find(id: string): Space | null | undefined {
    const found = this.get(id);
    if (found || !this.loaded) return found;
    if (!this.#asked.has(id)) void this.read(id);
    return this.#others.get(id);
  }

  /** Reads one space again. */
  async read(id: string): Promise<void> {
    this.#asked.add(id);
    try {
      const space = await ok(knowledge.GET('/api/spaces/{id}', { params: { path: { id } } }));
      this.put(space);
    } catch (thrown) {
      if (failure(thrown).status !== 404) this.#asked.delete(id);
      else {
        this.#others.set(id, null);
        this.list = this.list.filter((space) => space.id !== id);
      }
    }
  }

  /** Takes a space from an answer. */
  put(space: Space): void {
    const others = this.list.filter(({ id }) => id !== space.id);
    if (space.role === null || space.role === undefined) {
      this.list = others;
      this.#others.set(space.id, space);
    } else this.list = [...others, space].sort((a, b) => a.name.localeCompare(b.name));
  }

  /** Notes that a space was deleted, or left: to the user there is none with this id any more. */
  forget(id: string): void {
    this.#asked.add(id);
    this.#others.set(id, null);
    this.list = this.list.filter((space) => space.id !== id);
  }

  /** How many documents all spaces have together. */
  get documents(): number {
    return this.list.reduce((sum, { documents }) => sum + documents, 0);
  }

  /** Returns whether the user may add and remove documents of a space; of the user's own, without an id. */
  mayEdit(id: string | null | undefined): boolean {
    return !id || session.admin || this.get(id)?.role === 'editor';
  }
}

export const spaces = new Spaces();
