import type { TokenizerAndRendererExtension, Tokens } from 'marked';
import { formulas } from './formulas.svelte';
import { escape } from './html';

/*
 * Formulas in Markdown: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` on lines of their own, and blocks of code of the
 * kind `math`. Prices, names of variables, and brackets that are only escaped are none.
 */

/** Without a backtick: what is code is code. Without an empty line: a formula is one paragraph. */
const INLINE = /^\$(?![\s$])((?:\\[^\n]|[^\\$`\n]|\n(?!\s*\n))+?)(?<!\s)\$(?![\d$])/;
const DISPLAY = /^\$\$(?!\$)((?:\\[^\n]|[^\\$`\n]|\n(?!\s*\n))+?)\$\$(?!\$)/;
const ROUND = /^\\\(((?:[^\\`\n]|\\[^()\n]|\n(?!\s*\n))+?)\\\)/;
const SQUARE = /^\\\[((?:[^\\`\n]|\\[^[\]\n]|\\\\\[|\n(?!\s*\n))+?)\\\]/;
/** A formula that has begun on a line of its own, up to the next empty line: more of it may be on its way. */
const BEGUN = /^ {0,3}(?:\$\$(?!\$)|\\\[)(?:[^\n]|\n(?!\s*\n))*/;
const OWN_LINE = /^[ \t]*(?:\n|$)/;

type Formula = { raw: string; source: string; display: boolean };

/** Returns the formula that a text begins with. `before` is the character that comes before it. */
export function formulaAt(text: string, before = ''): Formula | null {
  const display = DISPLAY.exec(text) ?? SQUARE.exec(text);
  if (display) {
    const source = display[1]!.trim();
    const isText = text.startsWith('\\[') && isPlain(source);
    return !source || isText ? null : { raw: display[0], source, display: true };
  }
  const round = ROUND.exec(text);
  if (round) return round[1]!.trim() ? { raw: round[0], source: round[1]!.trim(), display: false } : null;
  const inline = /[\w$\\]/.test(before) ? null : INLINE.exec(text);
  if (!inline || isMoney(inline[1]!) || isVariable(inline[1]!, text[inline[0].length])) return null;
  return { raw: inline[0], source: inline[1]!, display: false };
}

/** Whether a text has a sign that a formula begins with. */
export function mayHaveFormula(text: string): boolean {
  return /\$|\\[([]|(?:```|~~~)\s*math/.test(text);
}

/** Whether escaped brackets are only that: a number or words, as `\[1\]` and `\[see below\]`. */
function isPlain(source: string): boolean {
  return /^(?:\d+|(?=.*\p{L}{2})[\p{L}\d\s.,;:'’"!?–-]*)$/u.test(source);
}

/** Whether two signs stand for dollars: `$5 (or 6$` begins as an amount and goes on in words. */
function isMoney(source: string): boolean {
  return /^\d/.test(source) && !/[\\^_=]/.test(source) && /(?:^|[^\p{L}])\p{L}{2,}/u.test(source);
}

/** Whether the signs begin two names, as in `$HOME/$USER`. */
function isVariable(source: string, next = ''): boolean {
  return /^[A-Za-z_]{2,}/.test(source) && /[A-Za-z_]/.test(next);
}

function html({ raw, source, display, text }: Tokens.Generic): string {
  const written = formulas.write(source, display);
  return written || (text ? `<p>${escape(raw.trim())}</p>` : escape(raw));
}

const inline: TokenizerAndRendererExtension = {
  name: 'formula',
  level: 'inline',
  start: (text) => text.match(/\$|\\[([]/)?.index,
  tokenizer(text, tokens) {
    const found = formulaAt(text, tokens.at(-1)?.raw.at(-1));
    return found ? { type: 'formula', ...found } : undefined;
  },
  renderer: html,
};

const block: TokenizerAndRendererExtension = {
  name: 'formulaBlock',
  level: 'block',
  start: (text) => text.match(/\n {0,3}(?:\$\$|\\\[)/)?.index,
  tokenizer(text) {
    const indent = /^ {0,3}/.exec(text)![0].length;
    const found = formulaAt(text.slice(indent));
    if (found?.display) {
      const raw = text.slice(0, indent) + found.raw;
      const end = OWN_LINE.exec(text.slice(raw.length));
      if (end) return { type: 'formulaBlock', ...found, raw: raw + end[0], text: true };
    }
    return undefined;
  },
  renderer: html,
};

/** Text that begins as a formula of its own lines and has no end yet stays text, whatever signs are in it. */
const begun: TokenizerAndRendererExtension = {
  name: 'formulaBegun',
  level: 'block',
  tokenizer(text) {
    const raw = BEGUN.exec(text)?.[0];
    if (!raw || raw.length < text.trimEnd().length || /\$\$|\\\]/.test(raw.trim().slice(2))) return undefined;
    return { type: 'formulaBegun', raw };
  },
  renderer: ({ raw }) => `<p>${escape(raw.trim())}</p>`,
};

export const maths = {
  extensions: [inline, block, begun],
  hooks: {
    /** Hides formulas from the search for emphasis: a `*` in them ends none. */
    emStrongMask: (text: string) => masked(text),
  },
};

function masked(text: string): string {
  let result = '';
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at);
    const next = rest.search(/\$|\\[([]/);
    if (next < 0) return result + rest;
    const found = formulaAt(rest.slice(next), rest[next - 1] ?? result.at(-1));
    const length = found?.raw.length ?? 1;
    result += rest.slice(0, next) + (found ? 'a'.repeat(length) : rest[next]!);
    at += next + length;
  }
  return result;
}

/** Returns a block of code as a formula, if it is one and has its end. */
export function formulaOfCode({ lang, raw, text }: Tokens.Code): string | null {
  const isFormula = lang?.trim() === 'math' && /\n\s*(?:```+|~~~+)\s*$/.test(raw);
  return isFormula ? formulas.write(text, true) : null;
}

/** Elements and attributes of formulas. The attributes are allowed on nothing else. */
export const TAGS =
  'math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover'.split(
    ' ',
  );
export const ATTRIBUTES =
  'accent accentunder columnspan depth display displaystyle fence form height largeop linethickness lspace mathvariant maxsize minsize movablelimits notation rowspan rspace scriptlevel separator stretchy symmetric tabindex voffset width'.split(
    ' ',
  );
