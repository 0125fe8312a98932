import { expect, test } from 'vitest';
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
