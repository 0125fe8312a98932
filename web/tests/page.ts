/* What tests of the page do again and again. */
import { type Page } from 'playwright-core';
import { words } from '$words/shell';
import { words as signin } from '$words/signin';
import { ADMIN } from './harness';

/** Signs in by the form. */
export async function signIn(page: Page, { username, password } = ADMIN): Promise<void> {
  await page.getByLabel(signin.username).fill(username);
  await page.getByLabel(signin.password, { exact: true }).fill(password);
  await page.getByRole('button', { name: signin.action, exact: true }).click();
}

/** The screens, each with its name. */
export const screens = Object.entries(words.screens).filter(([id]) => id !== 'more');
export const pathOf = (id: string) => `#/${id === 'home' ? '' : id}`;

/** Opens each screen and waits until it is quiet. */
export async function openAll(page: Page, address: string): Promise<void> {
  for (const [id, label] of screens) {
    await page.goto(address + pathOf(id));
    await page.waitForFunction((title) => document.title.startsWith(title), label);
    await page.waitForLoadState('networkidle');
  }
}
