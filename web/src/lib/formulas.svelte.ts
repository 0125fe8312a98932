import type { default as Library } from 'temml';

/** Longer formulas are shown as their source. */
const LONGEST = 8_000;
/** No part of a formula is larger than this, in em and in points. */
const LARGEST: [number, number] = [20, 240];

/**
 * Writes formulas in LaTeX as MathML. What does it is loaded with the first formula, and until then a formula is its source:
 * whatever asks for one in a `$derived` is asked again once it is there.
 */
class Formulas {
  #library = $state.raw<typeof Library | null>(null);
  #loading: Promise<unknown> | null = null;

  get loaded(): boolean {
    return this.#library !== null;
  }

  /** Never fails: without a connection, the next formula tries it again. */
  load(): Promise<unknown> {
    return (this.#loading ??= import('temml').then(
      (module) => (this.#library = module.default),
      () => (this.#loading = null),
    ));
  }

  /** Returns a formula as MathML; null while the library is on its way, or if the source is no LaTeX. */
  write(source: string, displayMode: boolean): string | null {
    if (!this.#library) void this.load();
    if (!this.#library || source.length > LONGEST) return null;
    try {
      const mathml = this.#library.renderToString(source, {
        displayMode,
        throwOnError: true,
        trust: false,
        maxSize: LARGEST,
        maxExpand: 500,
      });
      const plain = withoutStyles(mathml);
      // A long formula is scrolled, also with the keyboard.
      return displayMode ? plain.replace('<math', '<math tabindex="0"') : plain;
    } catch {
      return null;
    }
  }
}

/** Lines around parts of a formula, as they are written in styles. */
const LINES = {
  border: 'boxed',
  'border-left': 'line-left',
  'border-right': 'line-right',
  'border-bottom': 'line-below',
};

/**
 * Returns MathML without styles: the Content-Security-Policy allows none, and a browser complains of each while it reads the
 * text. Lines, which mean something, become classes.
 */
function withoutStyles(mathml: string): string {
  return mathml.replace(/(?: class="([^"]*)")? style="([^"]*)"/g, (_, known: string = '', style: string) => {
    const names = style.split(';').map((rule) => LINES[rule.split(':')[0] as keyof typeof LINES]);
    const classes = [known, ...names].filter(Boolean).join(' ');
    return classes && ` class="${classes}"`;
  });
}

export const formulas = new Formulas();
