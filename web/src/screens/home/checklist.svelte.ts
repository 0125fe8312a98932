import { knowledge, ok } from '$lib/api/client';
import { startedProject } from '$lib/first-steps';
import { Setting } from '$lib/setting.svelte';

export type Step = 'document' | 'question' | 'project';

/** The first steps of a new user. What the user has done ticks them off. */
export class FirstSteps {
  done = $state<Record<Step, boolean> | null>(null);
  /** `seen` once it was shown with something left to do; `closed` once it was dismissed or completed. */
  #progress: Setting<'new' | 'seen' | 'closed'>;

  constructor(user: string) {
    this.#progress = new Setting(`first-steps.${user}`, 'new');
  }

  get complete(): boolean {
    return this.done !== null && Object.values(this.done).every(Boolean);
  }

  /** A user who has done everything before never sees the list. */
  get visible(): boolean {
    if (this.#progress.value === 'closed' || this.done === null) return false;
    return !this.complete || this.#progress.value === 'seen';
  }

  async look(): Promise<void> {
    if (this.#progress.value === 'closed') return;
    const query = { limit: 1 };
    const [documents, conversations] = await Promise.all([
      ok(knowledge.GET('/api/documents', { params: { query } })),
      ok(knowledge.GET('/api/conversations', { params: { query } })),
    ]);
    this.done = {
      document: documents.documents.length > 0,
      question: conversations.conversations.length > 0,
      project: startedProject().value,
    };
    if (!this.complete && this.#progress.value === 'new') this.#progress.value = 'seen';
  }

  dismiss(): void {
    this.#progress.value = 'closed';
  }
}
