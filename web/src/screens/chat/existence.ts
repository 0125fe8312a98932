import { knowledge, ok } from '$lib/api/client';
import type { Happens } from './message.svelte';

/** Whether the server has a conversation: it is made with its first question, or its first file. */
export class Existence {
  id: string | null;
  #happens: Happens;
  /** Whether it stays: the server has accepted a question or a file. */
  #kept: boolean;
  #creating: Promise<string> | null = null;

  constructor(id: string | null, happens: Happens) {
    this.id = id;
    this.#happens = happens;
    this.#kept = id !== null;
  }

  /** Returns the id, and makes the conversation if there is none. */
  async made(): Promise<string> {
    return this.id ?? (this.#creating ??= this.#create().finally(() => (this.#creating = null)));
  }

  async #create(): Promise<string> {
    const { id } = await ok(knowledge.POST('/api/conversations', { body: {} }));
    return (this.id = id);
  }

  /** As `made`, for a file: the conversation stays, whatever becomes of its first question. */
  async begun(): Promise<string> {
    const id = await this.made();
    if (this.keep(false)) this.#happens.onchanged();
    return id;
  }

  /** Notes that it stays. Returns whether that is new. */
  keep(isAsked = true): boolean {
    if (this.#kept || !this.id) return false;
    this.#kept = true;
    this.#happens.oncreated(this.id, isAsked);
    return true;
  }

  /** Removes the conversation if its first question was refused. */
  async drop(): Promise<void> {
    if (this.#kept || !this.id) return;
    const params = { path: { id: this.id } };
    this.id = null;
    await knowledge.DELETE('/api/conversations/{id}', { params }).catch(() => {});
  }
}
