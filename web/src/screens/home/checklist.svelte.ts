import { knowledge, ok } from '$lib/api/client';
import { startedProject } from '$lib/first-steps';
import { session } from '$lib/session.svelte';
import { Setting } from '$lib/setting.svelte';
import { connections } from '../admin/models/connections.svelte';

/** Only administrators choose a model. */
export type Step = 'document' | 'question' | 'project' | 'model';

/** The first steps of a new user. What the user has done ticks them off. */
export class FirstSteps {
  done = $state<Partial<Record<Step, boolean>> | null>(null);
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
      session.admin && connections.load(),
    ]);
    this.done = {
      document: documents.documents.length > 0,
      question: conversations.conversations.length > 0,
      project: startedProject().value,
      ...(session.admin && { model: connections.list!.length > 0 }),
    };
    if (!this.complete && this.#progress.value === 'new') this.#progress.value = 'seen';
  }

  /** Connects the server that was found, and answers with one of its models. */
  async use(...[server, model]: Parameters<typeof connections.use>): Promise<void> {
    await connections.use(server, model);
    if (this.done) this.done.model = true;
  }

  dismiss(): void {
    this.#progress.value = 'closed';
  }
}
