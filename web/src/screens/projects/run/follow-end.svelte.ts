/** Keeps the end of a growing text in view, but only for a reader who is there already. */
export class FollowEnd {
  /** Whether text has come that the reader, who is further up, has not seen. */
  missed = $state(false);
  active = false;
  #element: HTMLElement | null = null;
  #atEnd = true;

  attach = (element: HTMLElement) => {
    this.#element = element;
    const scroller = scrollerOf(element);
    let top = scroller.scrollTop;
    const note = () => {
      // Only a reader scrolls up. A distance alone says little: text may have come since the scroll that this tells of.
      if (distance(scroller) < 24) this.#atEnd = true;
      else if (scroller.scrollTop < top) this.#atEnd = false;
      top = scroller.scrollTop;
      if (this.#atEnd) this.missed = false;
    };
    scroller.addEventListener('scroll', note, { passive: true });
    // The text is drawn after its state has changed.
    const growth = new ResizeObserver(() => {
      if (this.active && this.#atEnd) scroller.scrollTop = scroller.scrollHeight;
    });
    for (const child of element.children) growth.observe(child);
    return () => {
      scroller.removeEventListener('scroll', note);
      growth.disconnect();
      this.#element = null;
    };
  };

  grown(): void {
    if (this.active && !this.#atEnd) this.missed = true;
  }

  go(): void {
    if (!this.#element) return;
    const scroller = scrollerOf(this.#element);
    this.#atEnd = true;
    this.missed = false;
    scroller.scrollTop = scroller.scrollHeight;
  }
}

function distance(element: HTMLElement): number {
  return element.scrollHeight - element.clientHeight - element.scrollTop;
}

/** On narrow screens not the text scrolls, but what is around it. */
function scrollerOf(element: HTMLElement): HTMLElement {
  for (let at: HTMLElement | null = element; at; at = at.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(at).overflowY)) return at;
  }
  return document.documentElement;
}
