import { download } from '$lib/browser';
import { fetchOk, knowledge, ok } from '$lib/api/client';
import { type Failure, failure } from '$lib/api/failure';
import type { Conversation } from '$lib/api/types/knowledge';
import { toasts } from '$lib/toasts.svelte';
import { words } from '$words/chat';
import { untrack } from 'svelte';

const PAGE = 50;

/** The user's conversations, the last changed first, as far as they are loaded. */
export class Conversations {
  list = $state.raw<Conversation[]>([]);
  loaded = $state(false);
  problem = $state.raw<Failure | null>(null);
  /** What is searched for, in titles and messages. */
  text = $state('');

  #next: string | null = null;
  #loading: AbortController | null = null;
  /** Deleted on the screen, and on the server once it cannot be undone any more. */
  #deleted = new Set<string>();

  /** Reads the list anew, as far as it was loaded. */
  async refresh(text = this.text): Promise<void> {
    const wanted =
      text === this.text
        ? Math.max(
            PAGE,
            untrack(() => this.list.length),
          )
        : PAGE;
    this.text = text;
    await this.#load(wanted, null);
  }

  /** Reads the next page, if there is one. */
  async more(): Promise<void> {
    if (this.#next && !this.#loading) await this.#load(PAGE, this.#next);
  }

  async rename(id: string, title: string): Promise<void> {
    const renamed = await ok(
      knowledge.PATCH('/api/conversations/{id}', { params: { path: { id } }, body: { title } }),
    );
    this.list = this.list.map((conversation) => (conversation.id === id ? renamed : conversation));
  }

  /** Deletes a conversation, and offers to undo it. */
  delete({ id, title }: Conversation): void {
    this.#deleted.add(id);
    const before = this.list;
    this.list = before.filter((conversation) => conversation.id !== id);
    toasts.undoable(
      words.list.deleted(title || words.untitled),
      () => ok(knowledge.DELETE('/api/conversations/{id}', { params: { path: { id } }, keepalive: true })),
      (reason) => {
        this.#deleted.delete(id);
        void this.refresh();
        if (reason) this.problem = failure(new Error(words.list.notDeleted(title || words.untitled, reason)));
      },
    );
  }

  /** Offers the conversation as a file of Markdown. */
  async export({ id, title }: Conversation): Promise<void> {
    try {
      const response = await fetchOk('core', `/api/conversations/${encodeURIComponent(id)}/export`);
      const name = (title || words.untitled)
        .replace(/[\\/:*?"<>|\p{Cc}]+/gu, ' ')
        .slice(0, 80)
        .trim();
      download(`${name || 'conversation'}.md`, await response.blob());
    } catch (thrown) {
      this.problem = failure(thrown);
    }
  }

  async #load(wanted: number, after: string | null): Promise<void> {
    this.#loading?.abort();
    const loading = (this.#loading = new AbortController());
    const { signal } = loading;
    const found: Conversation[] = [];
    let next = after;
    try {
      // With a search, a page may be empty although another one follows.
      do {
        const query = {
          limit: Math.min(200, wanted - found.length),
          after: next ?? undefined,
          q: this.text || undefined,
        };
        const page = await ok(knowledge.GET('/api/conversations', { params: { query }, signal }));
        found.push(...page.conversations);
        next = page.next ?? null;
      } while (next && found.length < wanted);
      const known = after ? this.list : [];
      const all = new Map([...known, ...found].map((conversation) => [conversation.id, conversation]));
      this.list = [...all.values()].filter(({ id }) => !this.#deleted.has(id));
      this.#next = next;
      this.problem = null;
      this.loaded = true;
    } catch (thrown) {
      if (!signal.aborted) this.problem = failure(thrown);
    } finally {
      if (this.#loading === loading) this.#loading = null;
    }
  }
}
