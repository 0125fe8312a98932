import { untrack } from 'svelte';

/** A keyboard shortcut. The list that `?` shows and the listener below use the same table. */
export type Shortcut = {
  /** `mod+k`, `g d` (one after the other), `?`. `mod` is Ctrl, or Command on a Mac. */
  keys: string;
  label: string;
  run: () => void;
};

class Shortcuts {
  list = $state.raw<Shortcut[]>([]);
  #previous = '';
  #at = 0;

  /** Adds shortcuts for as long as a screen is open: call it in `$effect`, which takes the returned function. */
  add(...shortcuts: Shortcut[]): () => void {
    const others = untrack(() => this.list);
    this.list = [...others, ...shortcuts];
    return () => (this.list = untrack(() => this.list).filter((shortcut) => !shortcuts.includes(shortcut)));
  }

  handle(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.isComposing) return;
    const key = pressed(event);
    const typing =
      event.target instanceof HTMLElement &&
      event.target.matches('input, textarea, select, [contenteditable]');
    const dialog = document.querySelector('dialog[open]') !== null;
    // Esc leaves a field, so that single keys are shortcuts again.
    if (typing && !dialog && key === 'Escape') (event.target as HTMLElement).blur();
    if ((typing || dialog) && !key.startsWith('mod+')) return;
    const sequence = performance.now() - this.#at < 1200 ? `${this.#previous} ${key}` : key;
    [this.#previous, this.#at] = [key, performance.now()];
    const found =
      this.list.find(({ keys }) => keys === sequence) ?? this.list.find(({ keys }) => keys === key);
    if (!found) return;
    event.preventDefault();
    this.#previous = '';
    found.run();
  }
}

function pressed(event: KeyboardEvent): string {
  const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return (event.ctrlKey || event.metaKey ? 'mod+' : '') + (event.altKey ? 'alt+' : '') + name;
}

export const shortcuts = new Shortcuts();
