import { nextPage, portal, whole } from '$lib/api/client';
import type { Team } from './kinds';

/** The teams of the installation, by name. They come from a file and are only shown. */
class Teams {
  list = $state.raw<Team[]>([]);
  loaded = $state(false);
  error = $state.raw<unknown>(null);

  async load(): Promise<void> {
    try {
      const found: Team[] = [];
      let after: string | null = null;
      do {
        const query: { after?: string } = after ? { after } : {};
        const page: { data: { teams: Team[] }; headers: Headers } = await whole(
          portal.GET('/api/portal/org-matrix', { params: { query } }),
        );
        found.push(...page.data.teams);
        after = nextPage(page.headers);
      } while (after);
      this.list = found;
      this.loaded = true;
      this.error = null;
    } catch (thrown) {
      this.error = thrown;
    }
  }
}

export const teams = new Teams();
