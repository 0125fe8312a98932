/* Many conversations, long ones, ones about a document, and what goes wrong: the list, scrolling, typing, the rate limit, failures. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { words } from '$words/chat';
import { words as common } from '$words/common';
import { words as documents } from '$words/documents';
import { words as reader } from '$words/reader';
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
  QUESTIONS,
  questions,
  startForChat,
  vendor,
  vendorSays,
} from './chat';
import { longestTask } from './tasks';

startForChat();

const soon = (get: () => Promise<number>) => expect.poll(get, { timeout: 10_000 });
const paragraphs = (n: number) =>
  Array.from({ length: n }, (_, i) => `Paragraph ${i + 1} of the answer.`).join('\n\n');

it('searches, renames, exports and deletes conversations, and undoes it', async () => {
  vendorSays('It circulates coolant [1].');
  const { page, close } = await open();
  await converse(page, 'What does the pump circulate?');
  await page.getByRole('link', { name: words.newConversation }).first().click();
  await converse(page, 'Who replaces the seal of the pump?');
  const rows = page.getByRole('list', { name: words.list.label }).getByRole('listitem');
  await soon(() => rows.count()).toBe(2);

  await page.getByLabel(words.list.search).fill('replaces');
  await soon(() => rows.count()).toBe(1);
  expect(page.url()).toContain('q=replaces');

  const menu = () => rows.first().getByRole('button').click();
  await menu();
  await page.getByRole('menuitem', { name: words.list.rename }).click();
  await page.getByLabel(words.rename.label).fill('Who replaces what');
  await page.getByRole('button', { name: common.save }).click();
  await page.getByRole('heading', { name: 'Who replaces what' }).waitFor();

  await menu();
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: words.list.export }).click(),
  ]);
  expect(file.suggestedFilename()).toBe('Who replaces what.md');
  const markdown = readFileSync(await file.path(), 'utf8');
  expect(markdown).toContain('It circulates coolant [1].');
  expect(markdown).toContain('Pump manual');

  await menu();
  await page.getByRole('menuitem', { name: words.list.delete }).click();
  await soon(() => rows.count()).toBe(0);
  await page.getByRole('button', { name: common.undo }).click();
  await soon(() => rows.count()).toBe(1);
  await menu();
  await page.getByRole('menuitem', { name: words.list.delete }).click();
  // A page that is closed carries the deletion out.
  await page.goto('about:blank');
  const left = async () => (await (await api(program).call('/core/api/conversations')).json()).conversations;
  await soon(async () => (await left()).length).toBe(1);
  await close();
});

it('asks about one document only, until that is removed', async () => {
  vendorSays('A fact [1].');
  const valve = await api(program).ingest(
    'valve.md',
    '# Valve manual\n\nThe valve V-7 holds back coolant in the north hall.',
  );
  const title = 'Valve manual';
  const { page, close } = await open({ hash: '#/documents', allow: /404/ });
  await page.getByRole('button', { name: documents.actions.of(title) }).click();
  await page.getByRole('menuitem', { name: documents.actions.ask }).click();
  const chip = page.locator('form').getByRole('group', { name: words.scope.one });
  await chip.getByText(title).waitFor();
  expect(await composer(page).inputValue()).toBe('');
  await page.reload();
  await chip.getByText(title).waitFor();
  await page.getByRole('button', { name: words.empty.facts.label }).getByText(title).waitFor();

  await converse(page, 'What is in the north hall?');
  expect(vendor.asked.at(-1)).toContain('V-7');
  expect(vendor.asked.at(-1)).not.toContain('P-204');
  const scope = questions(page).getByRole('group', { name: words.scope.one });
  await scope.getByRole('link', { name: title }).click();
  await page.getByRole('complementary').getByText('holds back coolant').waitFor();
  await page.goBack();
  await chip.getByRole('button', { name: words.scope.remove(title) }).click();
  await chip.waitFor({ state: 'detached' });

  // An edited question keeps its document, until that is removed.
  const edit = async () => {
    await questions(page).first().hover();
    await page.getByRole('button', { name: words.question.edit }).click();
  };
  const again = page.getByRole('button', { name: words.question.again, exact: true });
  await edit();
  await again.click();
  await again.waitFor({ state: 'detached' });
  await answered(page);
  expect(vendor.asked.at(-1)).not.toContain('P-204');
  await scope.getByRole('link', { name: title }).waitFor();
  await edit();
  await scope.getByRole('button', { name: words.scope.remove(title) }).click();
  await again.click();
  await again.waitFor({ state: 'detached' });
  await answered(page);
  expect(vendor.asked.at(-1)).toContain('P-204');
  expect(await scope.count()).toBe(0);

  // The reader limits the conversation that is open.
  await page.locator('[data-cite="1"]').first().click();
  await page.getByRole('link', { name: reader.ask }).click();
  await chip.waitFor();
  expect(await questions(page).count()).toBe(1);
  await api(program).call(`/core/api/documents/${valve}`, { method: 'DELETE' });
  await page.goto(`${program.page}#/chat?document=${valve}`);
  await page.reload();
  await chip.getByText(words.scope.gone).waitFor();
  await ask(page, 'What holds it back?');
  await page.getByRole('alert').waitFor();
  expect(await composer(page).inputValue()).toBe('What holds it back?');
  await composer(page).fill('');
  await close();
});

it('follows the end only while the user is there', async () => {
  vendorSays(paragraphs(80), 8);
  const { page, close } = await open();
  await ask(page, 'Tell me all about the pump.');
  const scroller = page.getByRole('region', { name: words.messages.label });
  const toEnd = () => scroller.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
  await answers(page).getByText('Paragraph 30 of').waitFor();
  expect(await toEnd()).toBeLessThan(60);
  await scroller.hover();
  await page.mouse.wheel(0, -300);
  const pill = page.getByRole('button', { name: words.messages.newText });
  await pill.waitFor();
  const top = await scroller.evaluate((box) => box.scrollTop);
  await answers(page).getByText('Paragraph 60 of').waitFor();
  expect(Math.abs((await scroller.evaluate((box) => box.scrollTop)) - top)).toBeLessThan(5);
  await pill.click();
  await soon(toEnd).toBeLessThan(60);
  vendor.pause = 0;
  await answered(page);
  await soon(toEnd).toBeLessThan(60);
  await close();
});

it('takes a keystroke in under 50 ms in a conversation of 200 messages', async () => {
  vendorSays(`## An answer\n\n${paragraphs(6)}\n\n- one [1]\n- two [1]\n\n\`\`\`\ncode\n\`\`\``);
  const { page, close } = await open();
  const id = await converse(page, 'What does the pump circulate, at length?');
  await page.route(`**/core/api/conversations/${id}`, async (route) => {
    const answer = await (await route.fetch()).json();
    const copy = (n: number) =>
      answer.messages.map((message: { id: string }) => ({ ...message, id: `${message.id}-${n}` }));
    answer.messages = Array.from({ length: 100 }, (_, n) => copy(n)).flat();
    await route.fulfill({ json: answer });
  });
  await page.reload();
  await page.locator('article').nth(199).waitFor({ state: 'attached' });
  expect(await page.locator('article').count()).toBe(200);
  await composer(page).focus();
  const longest = await longestTask(browser, page, async () => {
    for (const letter of 'A question of some length.') await page.keyboard.press(letter, { delay: 10 });
  });
  expect(await composer(page).inputValue()).toBe('A question of some length.');
  expect(longest).toBeLessThan(50);
  await close();
});

it('says how long the rate limit lasts, and keeps the question', async () => {
  const { page, context, close } = await openAs('asker', { allow: /429/ });
  for (let i = 0; i < QUESTIONS; i++) {
    await context.request.post(`${program.gateway}/core/api/conversations/none/messages`, { data: {} });
  }
  await ask(page, 'One question too many?');
  await page.getByRole('button', { name: /Again in \d+ s/ }).waitFor();
  expect(await page.getByRole('alert').innerText()).toMatch(/question|limit|minute/i);
  expect(await composer(page).inputValue()).toBe('One question too many?');
  await close();
});

it('shows a failure below the text that was there, and tries again', async () => {
  vendorSays(paragraphs(100), 30);
  const { page, close } = await open();
  await ask(page, 'What does the pump circulate until it fails?');
  await answers(page).getByText('Paragraph 2 of').waitFor();
  vendor.fail();
  const note = answers(page).getByRole('alert');
  await note.waitFor();
  const text = await answers(page).locator('.markdown').boundingBox();
  expect(await answers(page).locator('.markdown').textContent()).toContain('Paragraph 2');
  expect((await note.boundingBox())!.y).toBeGreaterThanOrEqual(text!.y + text!.height);
  vendorSays('Now it works [1].');
  await note.getByRole('button', { name: common.retry }).click();
  await answers(page).getByText('Now it works').waitFor();
  await close();
});
