import { svelte } from '@sveltejs/vite-plugin-svelte';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// The gateway of a running program, for `npm run dev`: the page is then at http://localhost:5173/kv/.
const gateway = process.env.STOA_GATEWAY ?? 'http://127.0.0.1:8080';
const forward = { target: gateway, changeOrigin: true, headers: { origin: gateway } };

export default defineConfig(({ command }) => ({
  // Relative: the page works below any prefix.
  base: command === 'serve' ? '/kv/' : './',
  plugins: [svelte()],
  resolve: { alias: { $lib: at('./src/lib'), $words: at('./src/words') } },
  build: {
    target: 'es2022',
    // No inlined files: the Content-Security-Policy allows no data for fonts and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200,
  },
  worker: { format: 'es' },
  server: { proxy: { '/auth': forward, '/core': forward, '/build': forward, '/kv/api': forward } },
  // Not isolated: a browser's objects for each file would take thirty times as long as the tests.
  test: { environment: 'happy-dom', include: ['src/**/*.test.ts'], isolate: false },
}));
