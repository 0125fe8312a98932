import { knowledge, ok } from '$lib/api/client';

import { session } from '$lib/session.svelte';
import { untrack } from 'svelte';
import { isActive, nextLook } from './runs';
import type { Source } from './source';

export type { Source };

/** The sources of the user or of a space. */
export class SourceList {
  list = $state.raw<Source[]>([]);
  loaded = $state(false);
  /** Below which folders of the server a source may be; empty for users who may not add any. */
  folderRoots = $state.raw<string[]>([]);
  error = $state.raw<unknown>(null);
  #asked = false;

  constructor(/** Empty for the user's own. */ readonly spaceId: string) {}

  async load(): Promise<void> {
    this.#asked = true;
    try {
      const query = { spaceId: this.spaceId || undefined };
      const { sources, folderRoots = [] } = await ok(knowledge.GET('/api/sources', { params: { query } }));
      Object.assign(this, { list: sources, folderRoots, loaded: true, error: null });
    } catch (thrown) {
      this.error = thrown;
    }
  }

  /** Returns the name of a source; undefined until it is known. */
  nameOf(id: string): string | undefined {
    if (!this.#asked) void this.load();
    return this.list.find((source) => source.id === id)?.name;
  }

  /** Reads the list, and again while something runs and the tab is visible. Call it in `$effect`. */
  watch(): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let ended = false;
    const look = async () => {
      clearTimeout(timer);
      if (document.visibilityState !== 'visible') return;
      await this.load();
      const pause = nextLook(this.list, Date.now());
      if (!ended && pause !== null) timer = setTimeout(look, pause);
    };
    untrack(() => void look());
    this.#look = () => void look();
    document.addEventListener('visibilitychange', look);
    return () => {
      ended = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }

  /** Takes a source from an answer, and follows its run. */
  put(source: Source): void {
    const known = this.list.some(({ id }) => id === source.id);
    this.list = known
      ? this.list.map((other) => (other.id === source.id ? source : other))
      : [...this.list, source];
    if (isActive(source, Date.now())) this.#look();
  }

  forget(id: string): void {
    this.list = this.list.filter((source) => source.id !== id);
  }

  #look = () => {};
}

const known = new Map<string, SourceList>();

export function sourcesIn(spaceId: string | null | undefined): SourceList {
  const key = `${session.user?.id} ${spaceId ?? ''}`;
  const found = known.get(key) ?? new SourceList(spaceId ?? '');
  known.set(key, found);
  return found;
}
