import { knowledge, ok } from '$lib/api/client';
import type {
  ConnectionView,
  DefaultChoice,
  FoundServer,
  ModelDefaults,
  NewConnectionBody,
} from '$lib/api/types/knowledge';
import { toasts } from '$lib/toasts.svelte';
import { words } from '$words/models';

/** The servers of models, those that were found on the server's machine, and which model answers for what. */
class Connections {
  list = $state.raw<ConnectionView[] | null>(null);
  found = $state.raw<FoundServer[]>([]);
  defaults = $state.raw<ModelDefaults>({});
  /** Why the last removal failed. */
  fault = $state('');

  async load(): Promise<void> {
    const [{ connections }, defaults] = await Promise.all([
      ok(knowledge.GET('/api/connections')),
      ok(knowledge.GET('/api/models/defaults')),
    ]);
    this.list = connections;
    this.defaults = defaults;
    // Looking for servers takes a moment, and nothing waits for it.
    ok(knowledge.GET('/api/connections/found')).then(
      ({ servers }) => (this.found = servers.filter(({ models }) => models.length > 0)),
      () => (this.found = []),
    );
  }

  /** Adds a connection. Returns why its models are not known, if they are not. The first one answers from now on. */
  async add(body: NewConnectionBody): Promise<{ connection: ConnectionView; error?: string }> {
    const added = await ok(knowledge.POST('/api/connections', { body }));
    const isFirst = !this.defaults.chat && !this.list?.length;
    if (isFirst && added.connection.models.length > 0) {
      const choice = { connection: added.connection.id };
      await this.set({ chat: choice, agents: choice });
    }
    await this.load();
    return added;
  }

  async set(changes: { chat?: DefaultChoice | null; agents?: DefaultChoice | null }): Promise<void> {
    this.defaults = await ok(knowledge.PUT('/api/models/defaults', { body: changes }));
  }

  remove({ id, name }: ConnectionView): void {
    const before = this.list;
    this.list = before?.filter((connection) => connection.id !== id) ?? null;
    toasts.undoable(
      words.removed(name),
      async () => {
        await ok(knowledge.DELETE('/api/connections/{id}', { params: { path: { id } }, keepalive: true }));
        await this.load();
      },
      (failed) => {
        this.list = before;
        this.fault = failed ? words.notRemoved(name, failed) : '';
      },
    );
  }
}

export const connections = new Connections();
