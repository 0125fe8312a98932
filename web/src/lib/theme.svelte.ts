import { Setting } from './setting.svelte';

export const theme = new Setting<'auto' | 'light' | 'dark'>('theme', 'auto');

/** Applies the theme to the page; called again whenever it changes. */
export function applyTheme(): void {
  if (theme.value === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}
