import type { Failure } from '$lib/api/failure';
import { follow } from '$lib/api/stream';
import { applyEvent, newRun, type RunState } from './run-state';

/** How long a hidden page keeps its connection: a browser has six per server, and other tabs need them. */
const HIDDEN_TIME = 20_000;

/** Follows a run: from its first event, and from the last one seen after an interruption of the connection. */
export class RunFeed {
  readonly runId: string;
  state = $state.raw<RunState>(newRun());
  /** Why there is no connection at the moment. */
  trouble = $state.raw<Failure | null>(null);
  /** Whether all that was stored before has arrived. */
  loaded = $state(false);

  #onChange: (event: string) => void;
  #end: (() => void) | null = null;
  #closed = false;
  #hidden: ReturnType<typeof setTimeout> | undefined;

  /** `onChange` is called after events that change more than a text or a percentage. */
  constructor(runId: string, onChange: (event: string) => void) {
    this.runId = runId;
    this.#onChange = onChange;
    document.addEventListener('visibilitychange', this.#visibility);
    this.open();
  }

  /** Connects, also again: to a run that had ended and was executed again. */
  open(): void {
    if (this.#end || this.#closed) return;
    this.#end = follow({
      service: 'build',
      path: () => `/api/runs/${encodeURIComponent(this.runId)}/events?lastEventId=${this.state.lastEventId}`,
      onState: (trouble) => {
        this.trouble = trouble;
        if (!trouble) this.loaded = true;
      },
      onEvent: (event) => {
        const before = this.state;
        this.state = applyEvent(before, event);
        if (this.state !== before && event.event !== 'agent_text' && event.event !== 'agent_progress')
          this.#onChange(event.event);
      },
      onEnd: (reason) => {
        this.#end = null;
        this.loaded = true;
        this.trouble = reason;
        this.#onChange('end');
      },
    });
  }

  /** Connects anew: the connection is there, but says less than the server knows. */
  reconnect(): void {
    this.#end?.();
    this.#end = null;
    this.open();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#hidden);
    document.removeEventListener('visibilitychange', this.#visibility);
    this.#end?.();
    this.#end = null;
  }

  #visibility = () => {
    clearTimeout(this.#hidden);
    if (document.visibilityState === 'visible') {
      if (this.state.status === 'running' || this.state.status === 'interrupted') this.open();
      return;
    }
    this.#hidden = setTimeout(() => {
      this.#end?.();
      this.#end = null;
    }, HIDDEN_TIME);
  };
}
