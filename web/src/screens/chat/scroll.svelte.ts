/** Closer to the end than this counts as being there, in pixels. */
const NEAR = 48;

/** Where each conversation was left: the message at the top, and how far it was scrolled out. Null for the end. */
const left = new Map<string, { message: string; by: number } | null>();

/**
 * The scroll position of a conversation. At the end it stays at the end while text is added; elsewhere it stays where it
 * is. A conversation that is opened again is where it was left.
 */
export class ScrollPosition {
  atEnd = $state(true);
  /** Whether text was added below while the user was not at the end. */
  news = $state(false);

  #name: string | null;
  #element: HTMLElement | null = null;
  #top = 0;

  constructor(name: string | null) {
    this.#name = name;
  }

  /** Keeps the position of an element whose only child has the messages. */
  attach = (element: HTMLElement): (() => void) => {
    this.#element = element;
    const wanted = this.#name ? left.get(this.#name) : null;
    let restoring = wanted ?? null;
    if (restoring) this.atEnd = false;
    const sizes = new ResizeObserver(() => {
      if (restoring && this.#restore(restoring)) restoring = null;
      else if (!restoring && this.atEnd) this.#jump();
    });
    sizes.observe(element);
    for (const child of element.children) sizes.observe(child);
    const note = () => this.#note();
    element.addEventListener('scroll', note, { passive: true });
    return () => {
      this.#leave();
      sizes.disconnect();
      element.removeEventListener('scroll', note);
      this.#element = null;
    };
  };

  /** Notes that there is more to read at the end. */
  grown(): void {
    if (!this.atEnd) this.news = true;
  }

  toEnd(): void {
    this.atEnd = true;
    this.news = false;
    this.#jump();
  }

  /** Stays here, although it is the end. */
  stay(): void {
    this.atEnd = false;
  }

  /** Returns a function that scrolls back to what is at the top now, after messages were added above it. */
  anchor(): () => void {
    const here = this.#here();
    return () => here && this.#restore(here);
  }

  #jump(): void {
    const element = this.#element;
    if (element) element.scrollTop = element.scrollHeight;
  }

  #note(): void {
    const element = this.#element;
    if (!element) return;
    const toEnd = element.scrollHeight - element.scrollTop - element.clientHeight;
    // Text that is added moves the end away; only the user moves up.
    if (element.scrollTop < this.#top - 1 && toEnd > NEAR) this.atEnd = false;
    else if (toEnd <= NEAR) {
      this.atEnd = true;
      this.news = false;
    }
    this.#top = element.scrollTop;
  }

  #leave(): void {
    if (this.#name) left.set(this.#name, this.atEnd ? null : this.#here());
  }

  #here(): { message: string; by: number } | null {
    const edge = this.#element?.getBoundingClientRect().top ?? 0;
    const messages = this.#element?.querySelectorAll<HTMLElement>('[data-message]') ?? [];
    for (const message of messages) {
      const box = message.getBoundingClientRect();
      if (box.bottom > edge) return { message: message.dataset.message!, by: edge - box.top };
    }
    return null;
  }

  /** Returns whether the message is there. */
  #restore({ message, by }: { message: string; by: number }): boolean {
    const target = this.#element?.querySelector<HTMLElement>(`[data-message="${CSS.escape(message)}"]`);
    if (!target || !this.#element) return false;
    // The first jump brings the messages around it into the layout, the second is exact.
    for (let tries = 0; tries < 2; tries++) {
      const edge = this.#element.getBoundingClientRect().top;
      this.#element.scrollTop += target.getBoundingClientRect().top - edge + by;
    }
    this.#top = this.#element.scrollTop;
    return true;
  }
}
