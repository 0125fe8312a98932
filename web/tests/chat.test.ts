/* Conversations: answers that are written live, their sources, and what happens if the page goes away meanwhile. */
import { expect, it } from 'vitest';
import { words } from '$words/chat';
import { words as documents } from '$words/documents';
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
  vendorSays,
} from './chat';
import { checkLooks, visit } from './harness';
import { startLink } from './link';

startForChat();

const count = (n: number) => Array.from({ length: n }, (_, i) => `word${i + 1}`).join(' ') + ' [1].';

it('leads to adding a document while there is none', async () => {
  const { page, close } = await openAs('newcomer');
  await page.getByRole('link', { name: words.empty.add }).click();
  await page.getByRole('heading', { name: documents.title, exact: true }).first().waitFor();
  await close();
});

it('leads on from a conversation that does not exist, to questions about the documents', async () => {
  const { page, close } = await open({ hash: '#/chat/unknown', allow: /404/ });
  await page.getByText(words.missing.title).waitFor();
  expect(await composer(page).count()).toBe(0);
  await page.getByRole('link', { name: words.missing.action }).click();
  await page.getByRole('button', { name: words.empty.points.label }).click();
  expect(await composer(page).inputValue()).toBe(words.empty.points.question('Pump manual'));
  await composer(page).fill('');
  await close();
});

it('shows the passage of a citation by pointer, focus and tap, and opens it at the first click', async () => {
  vendorSays('The pump circulates **coolant** [1].\n\n- The seal lasts 500 hours [1]');
  const { page, close } = await open();
  const id = await converse(page, 'What does the pump circulate?');
  // Not `innerText`, which is empty before the browser has drawn what it may leave out.
  expect(await answers(page).locator('strong').textContent()).toBe('coolant');
  const cite = page.locator('[data-cite="1"]').first();
  const popover = page.getByRole('group', { name: words.source.label(1) });

  await cite.hover();
  await popover.getByText('circulates coolant in the north hall').waitFor();
  await page.mouse.move(5, 5);
  await popover.waitFor({ state: 'detached' });
  await cite.focus();
  await popover.waitFor();
  await page.keyboard.press('Escape');
  await popover.waitFor({ state: 'detached' });

  // The list of sources does the same.
  await page.getByRole('list', { name: words.source.list }).getByRole('button').first().hover();
  await popover.waitFor();
  await page.keyboard.press('Escape');
  await popover.waitFor({ state: 'detached' });

  await page.keyboard.press('Enter');
  await page.locator('aside mark').first().waitFor();
  expect(await page.locator('aside').innerText()).toContain('circulates coolant in the north hall');
  await page.goBack();
  await page.locator('aside').waitFor({ state: 'detached' });

  // After a reload, the citation still opens the same passage.
  await page.reload();
  await page.locator('[data-cite="1"]').first().click();
  await page.locator('aside mark').first().waitFor();
  expect(new URL(page.url()).hash).toContain(id);
  await close();

  const phone = await open({ hash: `#/chat/${id}`, viewport: { width: 390, height: 844 }, hasTouch: true });
  await phone.page.locator('[data-cite="1"]').first().tap();
  await phone.page.getByRole('button', { name: words.source.open }).tap();
  await phone.page.locator('aside mark').first().waitFor();
  await phone.close();
});

it('offers the nearest passages if the documents do not answer', async () => {
  const { page, close } = await open();
  await page.getByLabel(words.composer.provider).selectOption('edge-ai');
  await ask(page, 'What does the pump P-204 cost?');
  expect(await answered(page)).toContain('The documents do not say.');
  expect(await page.locator('[data-cite]').count()).toBe(0);
  expect(await page.getByRole('list', { name: words.source.list }).count()).toBe(0);
  await page.getByRole('list', { name: words.source.othersList }).getByRole('button').first().click();
  await page.locator('aside mark').first().waitFor();
  expect(await page.locator('aside').innerText()).toContain('circulates coolant in the north hall');
  await close();
});

it('marks what a model says and no source bears out', async () => {
  vendorSays(
    'The seal of the pump is replaced every 500 hours [1]. The director lives in a castle near Oslo.',
  );
  const { page, close } = await open();
  await converse(page, 'How often is the seal of the pump replaced?');
  const shown = await answers(page).last().locator('.markdown').textContent();
  expect(shown).toContain('every 500 hours');
  expect(shown).toContain('near Oslo. (no source says this)');
  await close();
});

it('goes on with an answer after a reload, and announces it once, whole', async () => {
  vendorSays(count(60), 60);
  const { page, close } = await open();
  await ask(page, 'How is the pump maintained, in many words?');
  await answers(page).getByText('word5').waitFor();
  await page.reload();
  await answers(page).getByText('word5').waitFor();
  expect(await page.locator('[data-announcer]').innerText()).toBe('');
  await page.evaluate(() => {
    const said: string[] = ((window as unknown as { said: string[] }).said = []);
    const region = document.querySelector('[data-announcer]')!;
    const watch = () => said.push(region.textContent ?? '');
    new MutationObserver(watch).observe(region, { childList: true, characterData: true, subtree: true });
  });
  vendorSays(count(60));
  const text = await answered(page);
  expect(text.match(/word\d+/g)).toEqual(count(60).match(/word\d+/g));
  const said = await page.evaluate(() => (window as unknown as { said: string[] }).said);
  expect(said).toHaveLength(1);
  expect(said[0]).toContain('word1 ');
  expect(said[0]).toContain('word60');
  expect(await questions(page).count()).toBe(1);
  await close();
});

it('loses and doubles nothing while the network is away for 30 s', async () => {
  const text = count(550);
  vendorSays(text, 60);
  const link = await startLink(program);
  const { page, close } = await visit(browser, link.page, { hash: '#/chat', allow: /ERR_|Failed to load/ });
  await page.clock.install();
  await ask(page, 'How is the pump maintained while I travel?');
  await answers(page).getByText('word5').waitFor();
  link.cut();
  await page.getByText(words.answer.lost).waitFor();
  // What had arrived is shown a moment later.
  await page.clock.runFor(1000);
  const before = await answers(page).textContent();
  let tries = 0;
  page.on('requestfailed', () => tries++);
  // By the page's clock. Second by second with a pause, so that each try fails before the next is due.
  for (let second = 1; second < 30; second++) {
    await page.clock.runFor(1000);
    await page.waitForTimeout(50);
  }
  expect(tries).toBeGreaterThan(2);
  expect(await answers(page).textContent()).toBe(before);
  link.mend();
  // The longest pause between two tries.
  await page.clock.runFor(19_000);
  // Still being written: it goes on, and then the rest comes at once.
  await page.getByText(words.answer.lost).waitFor({ state: 'detached' });
  expect(await answers(page).textContent()).not.toContain('word550');
  vendorSays(text);
  await answers(page).getByText('word550').waitFor();
  expect((await answered(page)).match(/word\d+/g)).toEqual(text.match(/word\d+/g));
  expect(await questions(page).count()).toBe(1);
  await close();
  link.stop();
});

it('stops an answer, answers again, and asks an edited question again', async () => {
  vendorSays(count(200), 40);
  const { page, close } = await open();
  await ask(page, 'How is the pump maintained?');
  await answers(page).getByText('word3').waitFor();
  await page.getByRole('button', { name: words.composer.stop }).click();
  await answers(page).getByText(words.answer.stopped).waitFor();
  expect(await answered(page)).not.toContain('word200');

  vendorSays('The seal is replaced [1].');
  await page.getByRole('button', { name: words.answer.retry }).click();
  await answers(page).getByText('The seal is replaced').waitFor();
  expect(await questions(page).count()).toBe(1);

  vendorSays('It circulates coolant [1].');
  await questions(page).first().hover();
  await page.getByRole('button', { name: words.question.edit }).click();
  await questions(page).getByLabel(words.question.label).fill('What does the pump circulate in the hall?');
  // An edit that was begun survives a reload.
  await page.reload();
  await page.getByRole('button', { name: words.question.again }).click();
  await answers(page).getByText('It circulates coolant').waitFor();
  await expect
    .poll(() => questions(page).allInnerTexts())
    .toEqual(['What does the pump circulate in the hall?']);
  await close();
});

it('shows what a hostile model writes as text', async () => {
  vendorSays(
    'The pump <img src=https://evil.example/a onerror=alert(1)> ![b](https://evil.example/b.png) [c](javascript:alert(2)) <script>alert(3)</script> [1] <style>*{display:none}</style> <iframe src="https://evil.example"></iframe>',
  );
  const { page, close } = await open();
  page.on('dialog', () => expect.unreachable('a dialog of the model'));
  await converse(page, 'What does the pump do, <b>really</b>?');
  expect(await answers(page).locator('img, script, style, iframe, [href^="javascript"]').count()).toBe(0);
  expect(await questions(page).textContent()).toContain('<b>really</b>');
  await close();
});

it('keeps what was typed', async () => {
  const { page, close } = await open();
  await composer(page).fill('A question that is not sent');
  await page.reload();
  expect(await composer(page).inputValue()).toBe('A question that is not sent');
  await composer(page).fill('');
  await close();
});

it('looks right in both themes and both widths', async () => {
  vendorSays('## Pump\n\nIt circulates `coolant` [1].\n\n| a | b |\n|---|---|\n| 1 | 2 |');
  const { page, close } = await open();
  await page.getByRole('button', { name: words.empty.points.label }).waitFor();
  const listed = await (await api(program).call('/core/api/documents')).json();
  const document = listed.documents[0].id as string;
  await page.goto(`${program.page}#/chat?document=${document}`);
  const id = await converse(page, 'كم مرة يجب استبدال ختم المضخة P-204؟ What does the pump circulate?');
  await close();
  await checkLooks(browser, program.page, '#/chat', (page) => page.getByText(words.empty.ask).waitFor());
  await checkLooks(browser, program.page, `#/chat/${id}?document=${document}`, async (page) => {
    await page.locator('[data-cite="1"]').first().focus();
    await page.getByRole('group', { name: words.source.label(1) }).waitFor();
  });
}, 120_000);
