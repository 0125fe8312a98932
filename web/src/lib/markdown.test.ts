import { beforeAll, describe, expect, test } from 'vitest';
import { formulas } from './formulas.svelte';
import { blocks } from './markdown';

const html = (text: string, citations = false) => blocks(text, { citations }).join('');

test('HTML in Markdown is shown as text', () => {
  for (const text of [
    '<script>alert(1)</script>',
    'a <img src=x onerror=alert(1)> b',
    '<svg/onload=alert(1)>',
    '<style>*{}</style>',
  ]) {
    const box = document.createElement('div');
    box.innerHTML = html(text);
    expect(box.querySelector('script, img, svg, style'), text).toBeNull();
    expect(box.textContent).toContain('<');
  }
});

test('nothing remote is loaded, and links lead to the web or to mail only', () => {
  const box = document.createElement('div');
  box.innerHTML = html(
    '![x](https://evil.example/p.png) [a](javascript:alert(1)) [b](https://ok.example) [c](data:text/html,x) [d](#/admin)',
  );
  expect(box.querySelector('img')).toBeNull();
  const links = [...box.querySelectorAll('a')].map((link) => link.getAttribute('href'));
  expect(links.filter(Boolean)).toEqual(['https://ok.example']);
});

test('a number in brackets is a citation, and a link with a number is none', () => {
  const box = document.createElement('div');
  box.innerHTML = html('Yes [1][12]. See [3](https://x.example) and `[4]`.', true);
  expect([...box.querySelectorAll('[data-cite]')].map((button) => button.textContent)).toEqual(['1', '12']);
  expect(html('Yes [1].')).not.toContain('button');
});

test('while a text grows, finished blocks stay as they are', () => {
  const before = blocks('# One\n\nTwo **three**\n\nFo');
  const after = blocks('# One\n\nTwo **three**\n\nFour and five');
  expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
  expect(after).toHaveLength(3);
});

describe('formulas', () => {
  beforeAll(() => formulas.load());

  /**
   * Returns the text with each formula as ⟨its text⟩, or ⟪its text⟩ on lines of its own. In a quote, since this DOM is not a
   * browser's: DOMPurify removes the outermost element of each block in it.
   */
  function shown(text: string): string {
    const box = document.createElement('div');
    box.innerHTML = html(text.replace(/^/gm, '> '), true);
    for (const formula of box.querySelectorAll('math'))
      formula.replaceWith(
        `${formula.getAttribute('display') === 'block' ? '⟪' : '⟨'}${formula.textContent}⟩`,
      );
    return box.textContent!.trim();
  }

  test('stand between signs of LaTeX', () => {
    expect(shown('If $x_1 > 0$, then \\(y^2\\) too: the $n$th.')).toBe(
      'If ⟨x1>0⟩, then ⟨y2⟩ too: the ⟨n⟩th.',
    );
    expect(shown('So\n\\[\na = b \\\\\n- c\n\\]\nholds')).toBe('So\n⟪a=b−c⟩holds');
    expect(shown('$$\nx\n=\ny\n$$')).toBe('⟪x=y⟩');
    expect(shown('- so $$x$$ here')).toBe('so ⟪x⟩ here');
    expect(shown('```math\nx^2\n```')).toBe('⟪x2⟩');
    expect(shown('1. First:\n   $$\n   x\n   $$')).toBe('First:⟪x⟩');
    expect(shown('*a $x*y$ b* $a_1$ and $b_1$')).toBe('a ⟨x∗y⟩ b ⟨a1⟩ and ⟨b1⟩');
    expect(shown('| a | b |\n|---|---|\n| $x$ | $y$ |')).toContain('⟨y⟩');
  });

  test('are not prices, names of variables, or brackets that are only escaped', () => {
    for (const text of [
      'It costs $5 and $10.',
      'Between $5-$10, or $5,000–$6,000 off',
      'From US$5 to A$6, or $5 (or 6$)',
      'Set $HOME/$USER and $PATH.',
      'Paid $100 in cash$',
      '$ x $',
      'Only one $x',
      'Much $$$ and more $$$',
    ])
      expect(shown(text)).toBe(text);
    expect(shown('A note \\[1\\] and \\[see below\\], \\$x\\$.')).toBe('A note [1] and [see below], $x$.');
  });

  test('leave code and citations alone', () => {
    expect(shown('`$x$` and `\\(y\\)`')).toBe('$x$ and \\(y\\)');
    expect(shown('```\n$x$\n$$\ny\n$$\n```')).toBe('$x$\n$$\ny\n$$');
    expect(shown('Cost $a `b$`')).toBe('Cost $a b$');
    expect(html('$x[1]$ is so [2].', true).match(/data-cite="(\d)"/g)).toEqual(['data-cite="2"']);
  });

  test('that are no LaTeX show their source', () => {
    expect(shown('So $\\frac{1$ and $\\nonsense{x}$.')).toBe('So $\\frac{1$ and $\\nonsense{x}$.');
    expect(shown('$$\n\\begin{a}\n$$')).toBe('$$\n\\begin{a}\n$$');
    expect(shown('```math\n\\begin{a}\n```')).toBe('\\begin{a}');
    expect(shown(`$${'{'.repeat(9000)}$`)).toContain('{{{');
  });

  test('stay text until their end is written', () => {
    const text = 'So\n\n\\[\na_1 * b_2\n- \\frac{1}{2} * c_3 \\]\n\nand $d_4$ is.';
    for (let length = 1; length < text.length; length++) {
      const box = document.createElement('div');
      box.innerHTML = html(text.slice(0, length));
      expect(box.querySelector('em, li, h1, h2'), text.slice(0, length)).toBeNull();
    }
    expect(shown('```math\nx^2')).toBe('x^2');
  });

  test('bring nothing but MathML', () => {
    for (const text of [
      '$\\href{javascript:alert(1)}{x}$',
      '$\\text{<img src=x onerror=alert(1)>}$',
      '$\\style{color:red}{x}$',
      '$\\color{red} x$',
      '$\\includegraphics{https://evil.example/x.png}$',
      '$\\class{menu}{x}$',
    ]) {
      const box = document.createElement('div');
      box.innerHTML = html(`> ${text}`);
      expect(box.querySelector('img, a, [style], [href], [src], script'), text).toBeNull();
    }
    expect(html('> $\\boxed{x}$')).toContain('class="boxed"');
    expect(html('> $\\rule{1000em}{1000em}$')).not.toContain('1000em');
  });
});
