import { ok, supervisor } from '$lib/api/client';
import type { ListedProject } from '$lib/api/types/supervisor';
import { toasts } from '$lib/toasts.svelte';
import { words } from '$words/projects';
import { SvelteSet } from 'svelte/reactivity';
import { cursorAfter } from '../pages';

const PAGE = 200;

/** The projects, newest first, as far as they were read. */
class Projects {
  #rows = $state.raw<ListedProject[]>([]);
  #next: string | null = null;
  #reading = false;
  /** Deleted ones that can still be brought back. */
  #hidden = new SvelteSet<string>();
  loaded = $state(false);
  complete = $state(false);
  error = $state.raw<unknown>(null);
  /** Why a deletion failed. */
  notDeleted = $state<string | null>(null);

  get rows(): ListedProject[] {
    return this.#rows.filter(({ id }) => !this.#hidden.has(id));
  }

  /** Reads the first page again and keeps the rest. */
  async refresh(): Promise<void> {
    await this.#read(null);
  }

  async more(): Promise<void> {
    if (this.loaded && !this.complete && this.#next) await this.#read(this.#next);
  }

  async #read(after: string | null): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    try {
      const answer = supervisor.GET('/api/projects', {
        params: { query: { limit: PAGE, after: after ?? undefined } },
      });
      const rows = await ok(answer);
      const next = cursorAfter((await answer).response);
      const fresh = new Set(rows.map(({ id }) => id));
      // Projects older than the first page stay; of those that it covers, the answer knows best.
      const last = rows.at(-1)?.id ?? '';
      const older = after
        ? this.#rows.filter(({ id }) => !fresh.has(id))
        : this.#rows.filter(({ id }) => next !== null && id < last);
      this.#rows = after ? [...older, ...rows] : [...rows, ...older];
      if (after || older.length === 0) {
        this.#next = next;
        this.complete = next === null;
      }
      this.loaded = true;
      this.error = null;
    } catch (thrown) {
      this.error = thrown;
    } finally {
      this.#reading = false;
    }
  }

  /** Deletes a project, unless it is undone in time. */
  delete({ id, name }: { id: string; name: string }): void {
    this.#hidden.add(id);
    this.notDeleted = null;
    const commit = async () => {
      await ok(supervisor.DELETE('/api/projects/{id}', { params: { path: { id } }, keepalive: true }));
      this.#rows = this.#rows.filter((row) => row.id !== id);
      this.#hidden.delete(id);
    };
    toasts.undoable(words.project.deleted(name), commit, (failed) => {
      this.#hidden.delete(id);
      if (failed) this.notDeleted = words.project.notDeleted(name, failed);
    });
  }
}

export const projects = new Projects();
