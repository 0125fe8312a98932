const FOCUSABLE =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [tabindex]:not([tabindex="-1"])';

/** What had the focus before a pane was opened, also if the pane changed its content since. */
let opener: HTMLElement | null = null;

/**
 * Gives the focus back to what had it, when the pane goes. A pane that covers the screen takes the focus and keeps it:
 * what lies below it cannot be seen. Use it as `<aside data-pane tabindex="-1" {@attach keepFocus(true)}>`.
 */
export function keepFocus(covers: boolean) {
  return (pane: HTMLElement) => {
    const active = document.activeElement;
    if (active instanceof HTMLElement && !active.closest('[data-pane]')) opener = active;
    const turn = (event: KeyboardEvent) => turnAround(pane, event);
    if (covers) {
      pane.focus({ preventScroll: true });
      addEventListener('keydown', turn);
    }
    return () => {
      removeEventListener('keydown', turn);
      const had = pane.contains(document.activeElement) || document.activeElement === document.body;
      if (had) setTimeout(giveBack);
    };
  };
}

function giveBack(): void {
  if (opener?.isConnected && !document.querySelector('[data-pane]')) opener.focus({ preventScroll: true });
}

/** Leads the Tab key from the last control of a pane to the first, and back. */
function turnAround(pane: HTMLElement, event: KeyboardEvent): void {
  if (event.key !== 'Tab' || event.defaultPrevented || document.querySelector('dialog[open]')) return;
  const controls = [...pane.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(
    (control) => control.getClientRects().length > 0,
  );
  const [first, last] = [controls[0], controls.at(-1)];
  const active = document.activeElement;
  const isInside = active !== pane && pane.contains(active);
  if (isInside && active !== (event.shiftKey ? first : last)) return;
  event.preventDefault();
  (event.shiftKey ? last : first)?.focus();
}
