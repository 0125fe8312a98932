import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// The tests in real Chromium, against the real program.
export default defineConfig({
  resolve: { alias: { $words: fileURLToPath(new URL('./src/words', import.meta.url)) } },
  test: {
    environment: 'node',
    include: ['tests/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One program and one browser at a time: two cores are enough for both, and no more.
    fileParallelism: false,
  },
});
