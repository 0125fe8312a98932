import { knowledge, ok } from '$lib/api/client';
import type { Space } from '$lib/spaces/spaces.svelte';

/** All spaces of the installation, for administrators. */
export class AllSpaces {
  list = $state.raw<Space[]>([]);
  loaded = $state(false);
  error = $state.raw<unknown>(null);

  async load(): Promise<void> {
    try {
      const { spaces } = await ok(knowledge.GET('/api/spaces', { params: { query: { all: true } } }));
      Object.assign(this, { list: spaces, loaded: true, error: null });
    } catch (thrown) {
      this.error = thrown;
    }
  }
}
