import { SvelteSet } from 'svelte/reactivity';

/** Sections that are put into the page in one step: few enough for a step to stay unnoticed. */
const STEP = 4;
/** What is shown before and after a section that is wanted at once. */
const AROUND = 2;

/**
 * Which sections of a long text are in the page. Those near the visible part are put there at once, the others whenever
 * the browser is idle: in the end all are there, so that the browser's own search finds everything.
 */
export class GradualText {
  #shown = new SvelteSet<number>();
  #count = 0;

  has(index: number): boolean {
    return this.#shown.has(index);
  }

  /** Begins with a section and those around it. Returns a function that ends it. */
  start(count: number, first: number): () => void {
    this.#shown.clear();
    this.#count = count;
    this.show(first);
    let next = 0;
    let idle = whenIdle(step);
    const shown = this.#shown;
    function step() {
      for (let left = STEP; left > 0 && next < count; next++) {
        if (shown.has(next)) continue;
        shown.add(next);
        left--;
      }
      if (next < count) idle = whenIdle(step);
    }
    return () => idle();
  }

  /** Shows a section and those around it now. */
  show(index: number): void {
    const last = Math.min(this.#count - 1, index + AROUND);
    for (let at = Math.max(0, index - AROUND); at <= last; at++) this.#shown.add(at);
  }

  /** Shows a section as soon as it comes near the visible part of what scrolls. */
  watch = (index: number) => (element: HTMLElement) => {
    if (this.#shown.has(index)) return;
    const seen: IntersectionObserverCallback = (entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) this.show(index);
    };
    const observer = new IntersectionObserver(seen, { root: element.closest('.view'), rootMargin: '100%' });
    observer.observe(element);
    return () => observer.disconnect();
  };
}

/** Calls back when the browser has nothing else to do. Returns a function that prevents it. */
function whenIdle(work: () => void): () => void {
  if (!('requestIdleCallback' in globalThis)) {
    const timer = setTimeout(work, 50);
    return () => clearTimeout(timer);
  }
  const id = requestIdleCallback(work);
  return () => cancelIdleCallback(id);
}
