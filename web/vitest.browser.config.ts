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
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A file has its own program and browser, which use about one core together.
    maxWorkers: 2,
    // The tests share the machine with each other: what they wait for may take a moment longer.
    expect: { poll: { timeout: 10_000 } },
    // CI shares its machine: what fails there has to fail twice.
    retry: process.env.CI ? 1 : 0,
  },
});
