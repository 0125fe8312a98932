import { knowledge, nextPage, ok, whole } from '$lib/api/client';
import { failure } from '$lib/api/failure';
import type { ListedUser } from '$lib/api/types/knowledge';
import { toasts } from '$lib/toasts.svelte';
import { words } from '$words/admin';
import { SvelteSet } from 'svelte/reactivity';

export type UserChanges = { disabled?: boolean; isAdmin?: boolean };

export const nameOf = (user: ListedUser) => user.name || user.username;

/** All users. The filter is looked up here: the service lists users by age alone. */
class Users {
  #all = $state.raw<ListedUser[]>([]);
  /** Those whose deletion can still be undone. */
  #hidden = new SvelteSet<string>();
  loaded = $state(false);
  error = $state.raw<unknown>(null);
  /** A change that failed. */
  notDone = $state<string | null>(null);
  list = $derived.by(() => this.#all.filter(({ id }) => !this.#hidden.has(id)));

  async load(): Promise<void> {
    try {
      const found: ListedUser[] = [];
      let after: string | null = null;
      do {
        const query: { limit: number; after?: string } = { limit: 1000, ...(after && { after }) };
        const page: { data: { users: ListedUser[] }; headers: Headers } = await whole(
          knowledge.GET('/api/users', { params: { query } }),
        );
        found.push(...page.data.users);
        after = nextPage(page.headers);
        // The first thousand are shown while the others come.
        if (!this.loaded) this.#all = [...found];
      } while (after);
      this.#all = found;
      this.loaded = true;
      this.error = null;
    } catch (thrown) {
      this.error = thrown;
    }
  }

  find(id: string | null): ListedUser | undefined {
    return this.#all.find((user) => user.id === id);
  }

  /** Returns users whose name, username or email has a text. */
  fitting(text: string): ListedUser[] {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return this.list;
    return this.list.filter((user) =>
      [user.name, user.username, user.email].some((field) => field.toLowerCase().includes(wanted)),
    );
  }

  /** Changes a user at once, and back if the service refuses. Returns whether it was done. */
  async change(user: ListedUser, changes: UserChanges): Promise<boolean> {
    this.notDone = null;
    this.#put({ ...user, ...changes });
    try {
      await ok(knowledge.PATCH('/api/users/{id}', { params: { path: { id: user.id } }, body: changes }));
      return true;
    } catch (thrown) {
      this.#put(user);
      this.notDone = words.users.failed(nameOf(user), failure(thrown).message);
      return false;
    }
  }

  /** Deletes a user once that can no longer be undone. */
  remove(user: ListedUser): void {
    this.notDone = null;
    this.#hidden.add(user.id);
    const commit = async () => {
      const params = { path: { id: user.id } };
      await ok(knowledge.DELETE('/api/users/{id}', { params, keepalive: true }));
      this.#all = this.#all.filter(({ id }) => id !== user.id);
    };
    toasts.undoable(words.users.deleted(nameOf(user)), commit, (why) => {
      this.#hidden.delete(user.id);
      if (why) this.notDone = words.users.notDeleted(nameOf(user), why);
    });
  }

  #put(user: ListedUser): void {
    this.#all = this.#all.map((old) => (old.id === user.id ? user : old));
  }
}

export const users = new Users();

/** Makes a password that can be read out: without letters that look alike. */
export function makePassword(): string {
  const letters = 'abcdefghijkmnpqrstuvwxyz23456789';
  const random = crypto.getRandomValues(new Uint8Array(20));
  const text = Array.from(random, (byte) => letters[byte % letters.length]).join('');
  return text.match(/.{5}/g)!.join('-');
}
