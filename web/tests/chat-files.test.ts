/* What a question is answered from: files of its conversation, or nothing but what the model knows. */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { words } from '$words/chat';
import { words as common } from '$words/common';
import { words as spaces } from '$words/spaces';
import { api } from './api';
import {
  answered,
  answers,
  ask,
  browser,
  composer,
  converse,
  open,
  openAs,
  program,
  questions,
  startForChat,
  vendor,
  vendorSays,
} from './chat';
import { checkLooks } from './harness';

startForChat();

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);
const text = (name: string, content: string) => ({
  name,
  mimeType: 'text/plain',
  buffer: Buffer.from(content),
});

async function attach(page: Page, ...files: ReturnType<typeof text>[]): Promise<void> {
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: words.files.attach }).click();
  await (await chooser).setFiles(files);
}
const chips = (page: Page) => page.getByRole('group', { name: words.files.label });
const scope = (page: Page) => page.getByRole('button', { name: spaces.scope.chosen('') });
/** Gives the box a paste or a drop with a file. */
async function give(page: Page, kind: 'paste' | 'drop', name: string, content: string): Promise<void> {
  await composer(page).evaluate(
    (box, [kind, name, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content!], name!, { type: 'text/plain' }));
      const more = { bubbles: true, cancelable: true };
      const event =
        kind === 'paste'
          ? new ClipboardEvent('paste', { clipboardData: transfer, ...more })
          : new DragEvent('drop', { dataTransfer: transfer, ...more });
      box.dispatchEvent(event);
    },
    [kind, name, content],
  );
}
const stored = async (id: string) => (await api(program).call(`/core/api/conversations/${id}`)).json();

it('talks without documents if the user says so, and goes on with it', async () => {
  vendorSays('A pump moves a liquid.');
  const { page, close } = await open();
  await scope(page).click();
  await page.getByRole('checkbox', { name: words.scope.justTalk }).check();
  await page.keyboard.press('Escape');
  await page.getByText(words.empty.justTalkText).waitFor();
  const id = await converse(page, 'What does a pump do?');
  expect(vendor.asked.at(-1)).not.toContain('coolant');
  expect((await stored(id)).messages[0].withoutDocuments).toBe(true);
  await questions(page).getByText(words.scope.nothing).waitFor();
  expect(await answers(page).getByRole('list', { name: words.source.othersList }).count()).toBe(0);

  // Opened again from the list, the conversation goes on as it was.
  await page.goto(`${program.page}#/chat/${id}`);
  await page.reload();
  const chosen = page.locator('form').getByRole('group', { name: words.scope.nothing });
  await chosen.waitFor();
  await chosen.getByRole('button', { name: words.scope.withDocuments }).click();
  await chosen.waitFor({ state: 'detached' });
  vendorSays('It circulates coolant [1].');
  await ask(page, 'What does the pump P-204 circulate?');
  await answered(page);
  expect(vendor.asked.at(-1)).toContain('coolant');
  expect((await stored(id)).messages.at(-2).withoutDocuments).toBe(false);

  // An edited question stays one without documents, unless that is taken away.
  await questions(page).first().hover();
  await questions(page).first().getByRole('button', { name: words.question.edit }).click();
  await questions(page).first().getByText(words.scope.noDocuments).waitFor();
  await close();
});

it('offers to talk where there are no documents', async () => {
  const { page, close } = await openAs('talker');
  await page.getByRole('button', { name: words.empty.talk }).click();
  vendorSays('Hello.');
  await converse(page, 'Hello?');
  await close();
});

it('answers from files that are chosen, pasted or dropped, and asks once they are read', async () => {
  vendorSays('The code is 4711 [1].');
  const { page, close } = await open();
  await composer(page).fill('What is the code');
  await attach(page, text('codes.txt', 'The secret code of the depot is 4711.'));
  await chips(page).getByText('codes.txt').waitFor();
  // The conversation begins with the file, and what was typed stays.
  await expect.poll(() => new URL(page.url()).hash).toMatch(/^#\/chat\/.+/);
  expect(await composer(page).inputValue()).toBe('What is the code');
  await give(page, 'paste', 'pasted.txt', 'A pasted note on the depot.');
  await give(page, 'drop', 'dropped.txt', 'A dropped note on the depot.');
  await chips(page).getByText('dropped.txt').waitFor();
  await ask(page, 'What is the code of the depot?');
  await answered(page);
  expect(vendor.asked.at(-1)).toContain('4711');
  expect(vendor.asked.at(-1)).not.toContain('coolant');
  expect(await composer(page).inputValue()).toBe('');
  await chips(page).getByText(words.files.used).waitFor();
  await scope(page).click();
  expect(await page.getByRole('checkbox', { name: words.scope.files }).isChecked()).toBe(true);
  // The user's own documents can be chosen, and then the files are not asked.
  await page.getByRole('checkbox', { name: spaces.mine }).check();
  await page.keyboard.press('Escape');
  expect(await chips(page).getByText(words.files.used).count()).toBe(0);

  await page.reload();
  await chips(page).getByText('codes.txt').waitFor();
  expect(await chips(page).getByRole('listitem').count()).toBe(3);
  await chips(page).getByRole('link', { name: 'codes.txt' }).click();
  await page.getByRole('complementary').getByText('The secret code of the depot').first().waitFor();
  await page.keyboard.press('Escape');
  await chips(page)
    .getByRole('button', { name: words.files.remove('codes.txt') })
    .click();
  await expect.poll(() => chips(page).getByRole('listitem').count()).toBe(2);
  await page.reload();
  await chips(page).getByText('pasted.txt').waitFor();
  expect(await chips(page).getByText('codes.txt').count()).toBe(0);
  await close();
});

it('waits for a file that is being read, if it is to', async () => {
  vendorSays('It is long [1].');
  const { page, close } = await open();
  await attach(page, text('long.txt', 'The depot is long. '.repeat(5_000)));
  await ask(page, 'How is the depot?');
  await page.getByText(words.composer.waits(1)).waitFor();
  await page.getByRole('button', { name: words.composer.wait }).click();
  expect(await composer(page).inputValue()).toBe('How is the depot?');
  await composer(page).press('Enter');
  await answered(page);
  expect(await questions(page).count()).toBe(1);
  await close();
});

it('shows pictures, and why a file cannot be used', async () => {
  const { page, close } = await open({ allow: /413|404/ });
  await attach(
    page,
    { name: 'photo.png', mimeType: 'image/png', buffer: PIXEL },
    { name: 'broken.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4 nothing of use') },
  );
  const photo = chips(page).getByRole('listitem').filter({ hasText: 'photo.png' });
  await photo.locator('img').waitFor();
  await photo.getByText(words.files.picture).waitFor();
  const broken = chips(page).getByRole('listitem').filter({ hasText: 'broken.pdf' });
  await broken.getByRole('alert').waitFor();
  expect((await broken.getByRole('alert').innerText()).length).toBeGreaterThan(5);
  await page.reload();
  await photo.locator('img').waitFor();
  expect(await photo.locator('img').evaluate((img: HTMLImageElement) => img.naturalWidth)).toBe(1);
  await close();
});

it('says that a file is too large, and sends it again if the user wants it', async () => {
  const { page, close } = await open({ allow: /413|Failed to load/ });
  const refusal = { success: false, error: 'the file is larger than 1 MiB', code: 'TOO_LARGE' };
  let refused = 0;
  await page.route('**/conversations/*/files', async (route) => {
    if (route.request().method() !== 'POST' || refused++ > 0) return route.continue();
    await route.fulfill({ status: 413, json: refusal });
  });
  await attach(page, text('again.txt', 'The depot again.'));
  const chip = chips(page).getByRole('listitem');
  await chip.getByText('The file is larger than 1 MiB').waitFor();
  await chip.getByRole('button', { name: `${common.retry}: again.txt` }).click();
  await chip.getByRole('link', { name: 'again.txt' }).waitFor();
  await close();
});

it('looks well with files, and without documents', async () => {
  const { page, close } = await open();
  await attach(
    page,
    text('notes on the pumps of the north hall, with a long name.txt', 'The depot.'),
    { name: 'photo.png', mimeType: 'image/png', buffer: PIXEL },
    { name: 'broken.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4 nothing of use') },
  );
  await chips(page).getByRole('alert').first().waitFor();
  await expect.poll(() => new URL(page.url()).hash).toMatch(/^#\/chat\/.+/);
  const { hash } = new URL(page.url());
  await close();
  await checkLooks(browser, program.page, hash, async (page) => {
    await chips(page).locator('img').waitFor();
    await page.getByText(words.empty.askFilesText).waitFor();
  });
  await checkLooks(browser, program.page, '#/chat?in=nothing', async (page) => {
    await page.getByText(words.empty.justTalkText).waitFor();
    await scope(page).click();
    await page.getByRole('checkbox', { name: words.scope.justTalk }).waitFor();
  });
});
