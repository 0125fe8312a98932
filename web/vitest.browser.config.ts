import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

// The tests in real Chromium, against the real program.
export default defineConfig({
  // Words name numbers and sizes by the formats of the page.
  resolve: { alias: { $lib: at('./src/lib'), $words: at('./src/words') } },
  test: {
    environment: 'node',
    include: ['tests/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One program and one browser at a time: two cores are enough for both, and no more.
    fileParallelism: false,
    // CI shares its machine: what fails there has to fail twice.
    retry: process.env.CI ? 1 : 0,
  },
});
