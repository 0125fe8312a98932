import type { NodeType } from '$lib/api/types/knowledge';

type Pair = { light: string; dark: string };

/** Colours of nodes by their type: each is told from the background (3:1) and from the others in both themes. */
export const colours: Record<NodeType, Pair> = {
  concept: { light: '#2f5fd0', dark: '#86a8ff' },
  person: { light: '#b4491b', dark: '#ffa06b' },
  organization: { light: '#7a3fbf', dark: '#c79bff' },
  place: { light: '#1a7f4b', dark: '#5cc48c' },
  event: { light: '#b32674', dark: '#ff8fc8' },
  product: { light: '#8a6d00', dark: '#e0c040' },
  term: { light: '#5b626d', dark: '#aab2bd' },
};
const other: Pair = { light: '#1c2024', dark: '#e6e8eb' };

export function colourOf(type: string): Pair {
  return colours[type as NodeType] ?? other;
}

/** Returns a colour for style sheets, right in both themes. */
export function cssColour(type: string): string {
  const { light, dark } = colourOf(type);
  return `light-dark(${light}, ${dark})`;
}

export type Theme = { dark: boolean; text: string; background: string; line: string };

/** Reads the colours of the theme that applies to an element. Canvases know no style sheets. */
export function themeOf(element: Element): Theme {
  const dark = getComputedStyle(element).colorScheme === 'dark' || (chosen() === null && systemIsDark());
  return dark
    ? { dark, text: '#e6e8eb', background: '#16191d', line: '#3a414b' }
    : { dark, text: '#1c2024', background: '#ffffff', line: '#c9ced6' };
}

/** Calls back whenever the theme may have changed. Returns a function that ends it. */
export function watchTheme(changed: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)');
  system.addEventListener('change', changed);
  const chosen = new MutationObserver(changed);
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => {
    system.removeEventListener('change', changed);
    chosen.disconnect();
  };
}

const chosen = () => document.documentElement.dataset.theme ?? null;
const systemIsDark = () => matchMedia('(prefers-color-scheme: dark)').matches;
