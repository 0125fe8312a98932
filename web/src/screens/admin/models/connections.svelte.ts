import { knowledge, ok } from '$lib/api/client';
import type {
  ConnectionChangesBody,
  ConnectionModel,
  ConnectionView,
  DefaultChoice,
  FoundServer,
  ModelDefaults,
  NewConnectionBody,
} from '$lib/api/types/knowledge';
import { toasts } from '$lib/toasts.svelte';
import { words } from '$words/models';

export const PURPOSES = ['chat', 'agents', 'graph'] as const;
export type Purpose = (typeof PURPOSES)[number];

/** The servers of models, those that were found on the server's machine, and which model answers for what. */
class Connections {
  list = $state.raw<ConnectionView[] | null>(null);
  found = $state.raw<FoundServer[]>([]);
  /** Whether the search on the server's machine has ended. */
  searched = $state(false);
  defaults = $state.raw<ModelDefaults>({});
  /** Why the last removal failed. */
  fault = $state('');

  /** The name of the model that answers questions; null if it is the one of the settings. */
  get answering(): string | null {
    const chosen = this.defaults.chat;
    const models = this.list?.find(({ id }) => id === chosen?.connection)?.models;
    return chosen?.model ?? models?.[0]?.name ?? null;
  }

  async load(): Promise<void> {
    const [{ connections }, defaults] = await Promise.all([
      ok(knowledge.GET('/api/connections')),
      ok(knowledge.GET('/api/models/defaults')),
    ]);
    this.list = connections;
    this.defaults = defaults;
    // Looking for servers takes a moment, and nothing waits for it.
    void this.#search();
  }

  async #search(): Promise<void> {
    try {
      const { servers } = await ok(knowledge.GET('/api/connections/found'));
      this.found = servers.filter(({ models }) => models.length > 0);
    } catch {
      this.found = [];
    }
    this.searched = true;
  }

  /** Adds a connection. Returns why its models are not known, if they are not. The first one answers from now on. */
  async add(body: NewConnectionBody): Promise<{ connection: ConnectionView; error?: string }> {
    const isFirst = !this.defaults.chat && !this.list?.length;
    const added = await ok(knowledge.POST('/api/connections', { body }));
    const { id, models } = added.connection;
    if (isFirst && models.length > 0) await this.answerWith(id, suggested(models));
    await this.load();
    return added;
  }

  /** Connects a server that was found, and answers with one of its models. */
  async use({ name, kind, baseUrl, models }: FoundServer, model: string): Promise<void> {
    const { connection } = await ok(
      knowledge.POST('/api/connections', { body: { name, kind, baseUrl, models } }),
    );
    await this.answerWith(connection.id, model);
    await this.load();
  }

  /** Lets a model answer questions and write for agents. */
  async answerWith(connection: string, model: string): Promise<void> {
    await this.set({ chat: { connection, model }, agents: { connection, model } });
  }

  async set(changes: { [purpose in Purpose]?: DefaultChoice | null }): Promise<void> {
    this.defaults = await ok(knowledge.PUT('/api/models/defaults', { body: changes }));
  }

  async change(id: string, body: ConnectionChangesBody): Promise<void> {
    const params = { path: { id } };
    const { connection } = await ok(knowledge.PATCH('/api/connections/{id}', { params, body }));
    this.list = this.list?.map((other) => (other.id === id ? connection : other)) ?? null;
  }

  /** Lets a connection write a sentence. */
  test(id: string) {
    return ok(knowledge.POST('/api/connections/{id}/test', { params: { path: { id } }, body: {} }));
  }

  /** Reads a connection's models from its server. Returns how many there are, or why it does not list them. */
  async refresh(id: string): Promise<number | string> {
    const { models, error } = await this.test(id);
    if (models.length === 0) return error ?? words.noModels;
    const known = this.list?.find((connection) => connection.id === id)?.models ?? [];
    await this.change(id, { models: models.map((model) => withKnown(model, known)) });
    return models.length;
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

/** Returns a model as its server lists it, with what was known of it and the server does not say. */
function withKnown(model: ConnectionModel, known: ConnectionModel[]): ConnectionModel {
  const said = Object.entries(model).filter(([, value]) => value !== null);
  return { ...known.find(({ name }) => name === model.name), ...Object.fromEntries(said), name: model.name };
}

/** Names of models that do not write. They are only not suggested. */
const NOT_WRITING = /embed|rerank|whisper|tts|dall-e|image|moderation|transcribe/i;

/** Returns the model of a list that is offered first. */
export function suggested(models: ConnectionModel[]): string {
  return (models.find(({ name }) => !NOT_WRITING.test(name)) ?? models[0])?.name ?? '';
}

export const connections = new Connections();
