import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';
import svelteConfig from './svelte.config.js';

export default ts.config(
  { ignores: ['dist', 'node_modules', 'src/lib/api/types'] },
  js.configs.recommended,
  ...ts.configs.recommended,
  ...svelte.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    rules: {
      // TypeScript knows which names exist.
      'no-undef': 'off',
      'max-lines': ['error', { max: 250, skipBlankLines: false }],
      // Only `Markdown.svelte` may insert HTML, after it was sanitized.
      'svelte/no-at-html-tags': 'error',
      // Most maps, sets and queries are made, read and dropped, or replaced as a whole.
      'svelte/prefer-svelte-reactivity': 'off',
      // Addresses are made by `href()` of the router.
      'svelte/no-navigation-without-resolve': 'off',
    },
  },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: { parserOptions: { parser: ts.parser, extraFileExtensions: ['.svelte'], svelteConfig } },
  },
  { files: ['src/lib/ui/Markdown.svelte'], rules: { 'svelte/no-at-html-tags': 'off' } },
);
