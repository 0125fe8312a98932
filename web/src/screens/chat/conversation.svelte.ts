import { knowledge, ok } from '$lib/api/client';
import { Failure, failure } from '$lib/api/failure';
import { follow, type StreamEvent } from '$lib/api/stream';
import type { ConversationEvent, ConversationMessage } from '$lib/api/types/knowledge';
import { type About, EVERYTHING, namedBy, type Replaced, type Style } from './about';
import { Existence } from './existence';
import { ConversationFiles } from './files.svelte';
import { begun, type Happens, merged, ShownMessage } from './message.svelte';
import { Writing } from './writing';

/*
 * One conversation on the screen. The answer belongs to the server: this follows it, and finds it again after a reload,
 * a lost connection or a change to another screen.
 */
export class Conversation {
  title = $state('');
  messages = $state.raw<ShownMessage[]>([]);
  /** A question that the server has not accepted yet. */
  asking = $state.raw<{ query: string; about: About; replaced: Replaced } | null>(null);
  /** Why the last question was not accepted, or the conversation could not be read. */
  problem = $state.raw<Failure | null>(null);
  /** Why the answer cannot be followed at the moment. */
  lost = $state.raw<Failure | null>(null);
  loading = $state(false);
  /** Whether the address names a conversation that the user does not have. */
  missing = $state(false);
  earlier = $state.raw<string | null>(null);
  /** Rises whenever there is more to read at the end. */
  revision = $state(0);
  readonly files = new ConversationFiles(
    () => this.id,
    () => this.#existence.begun(),
  );

  #happens: Happens;
  #existence: Existence;
  #leave = () => {};
  #following = false;
  /** A question that may have arrived, although its request failed. */
  #uncertain: string | null = null;

  constructor(id: string | null, happens: Happens) {
    this.#existence = new Existence(id, happens);
    this.#happens = happens;
  }

  get id(): string | null {
    return this.#existence.id;
  }

  get answer(): ShownMessage | null {
    const last = this.messages.at(-1);
    return last?.role === 'assistant' ? last : null;
  }

  /** The last question that was asked here. */
  get question(): ShownMessage | null {
    return this.messages.findLast(({ role }) => role === 'user') ?? null;
  }

  get writing(): boolean {
    return this.answer?.status === 'running' || this.asking !== null;
  }

  /** Reads the messages, and follows the answer if one is being written. */
  async load(): Promise<void> {
    if (!this.id) return;
    void this.files.load();
    this.loading = this.messages.length === 0;
    try {
      const path = { id: this.id };
      const content = await ok(knowledge.GET('/api/conversations/{id}', { params: { path } }));
      this.title = content.conversation.title;
      this.messages = merged(this.messages, content.messages);
      this.earlier = content.earlier ?? null;
      this.problem = null;
      this.revision++;
      if (this.answer?.status === 'running') this.#follow().catch((reason) => (this.problem = reason));
    } catch (thrown) {
      this.problem = failure(thrown);
      this.missing = this.problem.status === 404 && this.messages.length === 0;
    } finally {
      this.loading = false;
    }
  }

  async loadEarlier(): Promise<void> {
    if (!this.id || !this.earlier) return;
    const params = { path: { id: this.id }, query: { before: Number(this.earlier) } };
    const content = await ok(knowledge.GET('/api/conversations/{id}', { params }));
    this.messages = [...content.messages.map((message) => new ShownMessage(message)), ...this.messages];
    this.earlier = content.earlier ?? null;
  }

  /** Asks about something, or an old question again. Returns whether the server has accepted it. */
  async ask(
    query: string,
    style: Style,
    about: About = EVERYTHING,
    replaced: Replaced = {},
  ): Promise<boolean> {
    if (this.writing) return false;
    this.asking = { query, about, replaced };
    this.problem = null;
    this.revision++;
    try {
      if (await this.#arrivedBefore(query)) return true;
      const id = await this.#existence.made();
      const asked = query ? { query, ...namedBy(about) } : {};
      await this.#post(id, { ...style, ...replaced, ...asked });
      return true;
    } catch (thrown) {
      this.problem = failure(thrown);
      if (this.problem.offline) this.#uncertain = query;
      else void this.#existence.drop();
      // Another page of this user is asking here: show what it does.
      if (this.problem.status === 409) void this.#refresh();
      return false;
    } finally {
      this.asking = null;
      this.revision++;
    }
  }

  /** Ends the answer. What is there stays. */
  async stop(): Promise<void> {
    if (!this.id) return;
    try {
      await ok(knowledge.POST('/api/conversations/{id}/stop', { params: { path: { id: this.id } } }));
    } catch (thrown) {
      this.problem = failure(thrown);
    }
  }

  /** Takes up what ended with the session: the user has signed in again. */
  resume(): void {
    const isLeft = this.answer?.status === 'running' && !this.#following;
    if (this.problem?.status === 401 || isLeft) void this.load();
  }

  /** Follows no more. The answer goes on on the server. */
  close(): void {
    this.#leave();
    this.files.close();
  }

  /** Whether a question that was sent before the connection broke is on the server. */
  async #arrivedBefore(query: string): Promise<boolean> {
    if (this.#uncertain !== query || !this.id) return false;
    const last = this.messages.at(-1)?.id;
    await this.load();
    if (this.problem) throw this.problem;
    this.#uncertain = null;
    if (this.messages.length > 0) this.#existence.keep();
    return this.messages.at(-1)?.id !== last && this.messages.at(-2)?.content === query;
  }

  async #refresh(): Promise<void> {
    const reason = this.problem;
    await this.load();
    this.problem ??= reason;
  }

  #post(id: string, body: object): Promise<void> {
    const headers = { Accept: 'text/event-stream', 'Content-Type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return this.#follow({ path: `/api/conversations/${encodeURIComponent(id)}/messages`, init });
  }

  /** Follows the answer. Resolves when the first event is there. */
  #follow(first?: { path: string; init: RequestInit }): Promise<void> {
    this.#leave();
    this.lost = null;
    const id = encodeURIComponent(this.id ?? '');
    const writing = new Writing((text) => {
      if (this.answer) this.answer.content = text;
      this.revision++;
    });
    this.#following = true;
    return new Promise((accepted, refused) => {
      let ended = false;
      const leave = follow({
        service: 'core',
        first,
        path: (last) =>
          `/api/conversations/${id}/events${last ? `?lastEventId=${encodeURIComponent(last)}` : ''}`,
        onState: (reason) => (this.lost = reason),
        onEvent: (event) => {
          ended = this.#take(event as StreamEvent & ConversationEvent, writing);
          accepted();
          if (ended) return 'end';
        },
        onEnd: (reason) => {
          this.#following = false;
          this.lost = reason;
          if (reason) refused(reason);
          accepted();
          // The end of the answer was missed: it is on the server.
          if (!ended && !reason) void this.load();
        },
      });
      this.#leave = () => {
        this.#following = false;
        writing.stop();
        leave();
      };
    });
  }

  /** Takes an event of the answer. Returns whether it was the last one. */
  #take(event: ConversationEvent, writing: Writing): boolean {
    if (event.event === 'message') {
      writing.restart();
      this.#begin(event.data.user, event.data.assistant);
    } else if (event.event === 'sources' && this.answer) {
      this.answer.sources = event.data.sources;
      this.answer.notices = event.data.notices;
      this.answer.model = event.data.model;
      this.revision++;
    } else if (event.event === 'token') {
      writing.add(event.data.text);
    } else if (event.event === 'done' || event.event === 'error') {
      writing.stop();
      this.#finish(event.data.message);
      return true;
    }
    return false;
  }

  #begin(user: ConversationMessage, assistant: ConversationMessage): void {
    const replaced = this.asking?.replaced.editOf ?? this.asking?.replaced.retryOf;
    this.messages = begun(this.messages, replaced, user, assistant);
    this.asking = null;
    this.revision++;
    this.#existence.keep();
    this.#happens.onchanged();
  }

  #finish(message: ConversationMessage): void {
    this.answer?.update(message);
    this.revision++;
    this.#happens.onchanged();
    if (this.answer) this.#happens.onanswered(this.answer);
  }
}
