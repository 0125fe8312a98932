import DOMPurify from 'dompurify';
import { words } from '$words/common';
import { Marked, type Renderer, type TokenizerAndRendererExtension, type Tokens } from 'marked';
import { formulas } from './formulas.svelte';
import { escape } from './html';
import { ATTRIBUTES, formulaOfCode, mayHaveFormula, maths, TAGS } from './maths';

/*
 * Markdown of models and documents as safe HTML. HTML in it is shown as text, images are not loaded, links open in a
 * new tab, and the result is sanitized once more. `[1]` becomes a button that opens the source, LaTeX becomes MathML.
 */

const cite: TokenizerAndRendererExtension = {
  name: 'cite',
  level: 'inline',
  start: (text) => text.match(/\[\d{1,3}\](?!\()/)?.index,
  tokenizer(text) {
    const found = /^\[(\d{1,3})\](?!\()/.exec(text);
    return found ? { type: 'cite', raw: found[0], number: found[1] } : undefined;
  },
  renderer: ({ number }) =>
    `<button type="button" class="cite" data-cite="${number}" aria-label="${escape(words.source(number))}">${number}</button>`,
};

const LINK = /^(?:https?:|mailto:)/i;

const plain = {
  code: (token: Tokens.Code) => formulaOfCode(token) ?? (false as const),
  html: ({ text }: Tokens.HTML | Tokens.Tag) => escape(text),
  image: ({ text }: Tokens.Image) => escape(text),
  link(this: Renderer, { href, tokens }: Tokens.Link) {
    const text = this.parser.parseInline(tokens);
    return LINK.test(href) ? `<a href="${escape(href)}">${text}</a>` : text;
  },
};
const reader = new Marked({ gfm: true, breaks: false, renderer: plain }, maths);
const citing = new Marked({ gfm: true, breaks: false, renderer: plain, extensions: [cite] }, maths);

const purifier = DOMPurify(window);
purifier.addHook('uponSanitizeAttribute', (node, attribute) => {
  const isFormula = node.namespaceURI === 'http://www.w3.org/1998/Math/MathML';
  if (ATTRIBUTES.includes(attribute.attrName) && !isFormula) attribute.keepAttr = false;
});
purifier.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName === 'A') {
    node.setAttribute('target', '_blank');
    node.setAttribute('rel', 'noopener noreferrer');
  }
});
const ALLOWED = {
  ALLOWED_TAGS: [
    ...'a b blockquote br button code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre s strong sub sup table tbody td th thead tr ul'.split(
      ' ',
    ),
    ...TAGS,
  ],
  ALLOWED_ATTR: [
    'href',
    'title',
    'class',
    'type',
    'data-cite',
    'aria-label',
    'start',
    'align',
    'target',
    'rel',
    ...ATTRIBUTES,
  ],
  ALLOWED_URI_REGEXP: LINK,
  // Without this, the values of these attributes would have to be addresses as well.
  ADD_URI_SAFE_ATTR: ['type', 'data-cite', 'start', 'align', ...ATTRIBUTES],
  ALLOW_DATA_ATTR: false,
};

const rendered = new Map<string, string>();

/** Returns the blocks of a text as HTML, one string each: while a text grows, only the last ones change. */
export function blocks(text: string, { citations = false } = {}): string[] {
  const markdown = citations ? citing : reader;
  const tokens = markdown.lexer(text);
  return tokens
    .filter(({ type }) => type !== 'space')
    .map((token) => {
      const key = `${citations ? 'c' : 'p'}${mayHaveFormula(token.raw) && formulas.loaded ? 'f' : ''}:${token.raw}`;
      const known = rendered.get(key);
      if (known !== undefined) return known;
      const html = purifier.sanitize(markdown.parser([token]), ALLOWED);
      if (rendered.size > 2000) rendered.clear();
      rendered.set(key, html);
      return html;
    });
}
