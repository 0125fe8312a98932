import type { Source } from './message.svelte';

/** Time to move the pointer from a citation to its popover, in milliseconds. */
const PATIENCE = 250;

/** The source that a popover shows beside its citation. */
export class PeekedSource {
  shown = $state.raw<{ number: number; source: Source | null; anchor: HTMLElement } | null>(null);
  /** What was last used: a tap shows the popover, a click and Enter open the reader. */
  pointer = '';

  #timer: ReturnType<typeof setTimeout> | undefined;

  show(number: number, source: Source | null, anchor: HTMLElement): void {
    this.stay();
    this.shown = { number, source, anchor };
  }

  /** Closes the popover unless the pointer or the focus arrives in it soon. */
  leave(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.close(), PATIENCE);
  }

  stay(): void {
    clearTimeout(this.#timer);
  }

  close(): void {
    this.stay();
    this.shown = null;
  }
}
