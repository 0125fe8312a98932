import { Failure, fetchOk, ok, supervisor } from '$lib/api/client';
import type { HydratedProject, Run } from '$lib/api/types/supervisor';
import { inbox } from '../../../shell/inbox.svelte';
import { RunFeed } from '../run/feed.svelte';
import { type RunState, withEdits } from '../run/run-state';
import { workflow } from '../workflow/workflow.svelte';

/** How often a project without an open run is looked at: another person may have started one. */
const LOOK_TIME = 10_000;

export type Model = { provider?: string; model?: string };

/** A project with its history, and the run that is shown. */
export class ProjectState {
  readonly id: string;
  data = $state.raw<HydratedProject | null>(null);
  error = $state.raw<unknown>(null);
  /** What is being asked of the server: the button that asked shows it. */
  busy = $state<'run' | 'interrupt' | 'resume' | 'cancel' | null>(null);
  actionError = $state.raw<unknown>(null);
  feed = $state.raw<RunFeed | null>(null);

  #pending: ReturnType<typeof setTimeout> | undefined;
  #stale: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(id: string) {
    this.id = id;
  }

  get gone(): boolean {
    return this.error instanceof Failure && this.error.status === 404;
  }

  /** Whether the user may start its phases. */
  get mayExecute(): boolean {
    return this.data !== null && this.data.project.access !== 'read';
  }

  /** Whether the user may stop and resume its runs, decide, edit, share and delete. */
  get mayManage(): boolean {
    return this.data?.project.access === 'manage';
  }

  get runs(): Run[] {
    return this.data?.history.runs ?? [];
  }

  /** The run that is not over. */
  get openRun(): Run | null {
    return this.runs.find(({ last_event }) => last_event == null) ?? null;
  }

  /** The phase that deserves attention: of the open run, of the failed one, or the current one. */
  get mainPhase(): string {
    const latest = this.runs[0];
    if (this.openRun) return this.openRun.phase;
    if (latest?.status === 'error') return latest.phase;
    return this.data?.project.current_phase ?? '';
  }

  latestRun(phase: string): Run | null {
    return this.runs.find((run) => run.phase === phase) ?? null;
  }

  /** Returns what is known of a run that is followed; null for another. */
  stateOf(run: Run | null | undefined): RunState | null {
    if (!run || this.feed?.runId !== run.id) return null;
    return withEdits(this.feed.state, this.data?.history.artifacts ?? []);
  }

  async refresh(): Promise<void> {
    clearTimeout(this.#pending);
    try {
      const asked = ok(supervisor.GET('/api/hydrate/{id}', { params: { path: { id: this.id } } }));
      const [data] = await Promise.all([asked, workflow.load()]);
      if (this.#closed) return;
      this.data = data;
      this.error = null;
      this.#checkFeed();
    } catch (thrown) {
      this.error = thrown;
    }
  }

  /** A connection that died without a word, as behind some proxies, is noticed by what it has not told. */
  #checkFeed(): void {
    const { feed } = this;
    const run = this.runs.find(({ id }) => id === feed?.runId);
    if (!feed || !run || feed.trouble || run.status === feed.state.status) return;
    if (run.last_event != null && run.last_event <= feed.state.lastEventId) return;
    clearTimeout(this.#stale);
    // What was asked a moment ago may be older than what the events have told since, and the other way round.
    this.#stale = setTimeout(() => {
      if (this.feed === feed && this.runs.find(({ id }) => id === run.id)?.status !== feed.state.status)
        feed.reconnect();
    }, 2000);
  }

  /** Looks for changes that others make. Returns a function that ends it. */
  watch(): () => void {
    void this.refresh();
    const look = () => document.visibilityState === 'visible' && void this.#look();
    const timer = setInterval(look, LOOK_TIME);
    document.addEventListener('visibilitychange', look);
    return () => {
      this.#closed = true;
      clearInterval(timer);
      clearTimeout(this.#pending);
      clearTimeout(this.#stale);
      document.removeEventListener('visibilitychange', look);
      this.feed?.close();
    };
  }

  async #look(): Promise<void> {
    if (!this.data) return this.refresh();
    const state = await ok(supervisor.GET('/api/state/{id}', { params: { path: { id: this.id } } })).catch(
      (thrown) => thrown,
    );
    if (state instanceof Failure) {
      if (state.status === 404) this.error = state;
      return;
    }
    const known = this.data.system_state;
    if (state.status !== known.status || state.runId !== known.runId || state.phase !== known.phase)
      await this.refresh();
  }

  /** Shows a run: its events from the first, then as they come. */
  show(runId: string | null): void {
    if (this.feed?.runId === runId) return;
    this.feed?.close();
    this.feed = runId ? new RunFeed(runId, () => this.#soon()) : null;
  }

  /** Refreshes after a moment: many events of a run that is replayed cause one request. */
  #soon(): void {
    clearTimeout(this.#pending);
    this.#pending = setTimeout(() => {
      void this.refresh();
      void inbox.refresh().catch(() => null);
    }, 400);
  }

  /** Executes a phase: starts a run, or continues the one that failed. Returns whether it did. */
  async run(phase: string, model: Model = {}): Promise<boolean> {
    return this.#act('run', async () => {
      const response = await fetchOk('build', '/api/execute', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Prefer: 'respond-async' },
        body: JSON.stringify({ projectId: this.id, phase, ...model }),
      });
      const { runId } = await response.json();
      await this.refresh();
      this.show(runId);
      // A failed run that continues is the same run.
      this.feed?.open();
    });
  }

  async interrupt(): Promise<boolean> {
    return this.#act('interrupt', () =>
      ok(supervisor.POST('/api/interrupt', { body: { projectId: this.id } })),
    );
  }

  async resume(): Promise<boolean> {
    return this.#act('resume', () => ok(supervisor.POST('/api/resume', { body: { projectId: this.id } })));
  }

  async cancel(reason: string): Promise<boolean> {
    const body = { projectId: this.id, reason: reason.trim() || undefined };
    return this.#act('cancel', () => ok(supervisor.POST('/api/cancel', { body })));
  }

  /** Changes the name, the description or the space; without one, it is in none. Throws why not. */
  async change(body: { name?: string; product_seed?: string; space_id?: string | null }): Promise<void> {
    await ok(supervisor.PATCH('/api/projects/{id}', { params: { path: { id: this.id } }, body }));
    await this.refresh();
  }

  async #act(what: NonNullable<ProjectState['busy']>, action: () => Promise<unknown>): Promise<boolean> {
    this.busy = what;
    this.actionError = null;
    try {
      await action();
      return true;
    } catch (thrown) {
      this.actionError = thrown;
      return false;
    } finally {
      this.busy = null;
      this.#soon();
    }
  }
}
