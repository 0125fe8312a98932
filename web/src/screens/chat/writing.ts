/** Time between two updates of the screen while an answer is written, in milliseconds. */
const PAUSE = 60;

/**
 * Collects the pieces of an answer and shows them a few times a second: an answer may come in hundreds of pieces a
 * second, and each update of the screen reads the text as Markdown.
 */
export class Writing {
  #text = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #show: (text: string) => void;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  /** Begins anew: what comes next is the whole text, from its beginning. What is on the screen stays until then. */
  restart(): void {
    this.stop();
    this.#text = '';
  }

  add(piece: string): void {
    this.#text += piece;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#show(this.#text);
    }, PAUSE);
  }

  /** Shows nothing more. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
