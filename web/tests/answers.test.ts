/* What stands around an answer: its kind, its sources, and what was not read for it. */
import { expect, it } from 'vitest';
import { words } from '$words/chat';
import { api } from './api';
import {
  answered,
  answers,
  ask,
  browser,
  composer,
  converse,
  open,
  program,
  startForChat,
  vendorSays,
} from './chat';
import { checkLooks, startProgram, visit } from './harness';

startForChat();

const TITLE =
  'A description of the turbines, boilers, valves, filters and gauges of the southern machine hall';

it('starts each conversation with the default kind of answer, and says what it is', async () => {
  vendorSays('The seal lasts 500 hours [1].');
  const { page, close } = await open();
  const kind = page.getByLabel(words.composer.agent);
  await kind.selectOption('executive-summary');
  await converse(page, 'How long does the seal last?');
  // As long as one talks about the same, it stays.
  expect(await kind.inputValue()).toBe('executive-summary');
  await page.getByRole('link', { name: words.newConversation, exact: true }).first().click();
  await expect.poll(() => kind.inputValue()).toBe('rag-chat');
  await page.getByText('Answers the question, as briefly as it can.').waitFor();
  await kind.selectOption('critic');
  await page.reload();
  await expect.poll(() => kind.inputValue()).toBe('rag-chat');
  await close();
});

it('shows the cited sources as chips, the others by document, and clips no chip', async () => {
  const server = api(program);
  const part = (n: number) =>
    `## Turbine ${n}\n\n${`The turbine ${n} of the hall has a blade of steel. `.repeat(30)}`;
  await server.ingest('hall.md', `# ${TITLE}\n\n${[1, 2, 3].map(part).join('\n\n')}`);
  await server.ingest(
    'blade.md',
    `# Blades\n\nA blade of steel of the turbine in the hall is checked each spring.`,
  );
  vendorSays('A blade is of steel [2]. `[1]` is code.');
  for (const viewport of [
    { width: 1440, height: 900 },
    { width: 390, height: 844 },
  ]) {
    const { page, close } = await open({ viewport });
    await converse(page, 'What is a blade of the turbine in the hall made of?');
    const answer = answers(page).last();
    const chips = answer.getByRole('list', { name: words.source.list }).getByRole('button');
    expect(await chips.count()).toBe(1);
    expect(await chips.locator('.number').innerText()).toBe('2');
    const clipped = await chips.first().evaluate((chip) => {
      const parts = [chip, ...chip.querySelectorAll<HTMLElement>('*')];
      const box = chip.getBoundingClientRect();
      const isCut = parts.some(
        (part) => getComputedStyle(part).overflow !== 'visible' && part.scrollWidth > part.clientWidth,
      );
      return isCut || box.right > innerWidth || box.left < 0;
    });
    expect(clipped).toBe(false);
    const others = answer.getByRole('list', { name: words.source.othersList });
    expect(await others.isVisible()).toBe(false);
    await answer.getByText(/^Also looked at: \d passages? of \d documents?$/).click();
    const titles = await others.locator('.title').allInnerTexts();
    expect(new Set(titles).size, 'each document once').toBe(titles.length);
    await others.getByRole('button').first().click();
    await page.locator('aside mark').first().waitFor();
    await close();
  }
});

it('leaves no empty conversation if the first question is refused', async () => {
  const strict = await startProgram({ CHAT_REQUESTS_PER_MINUTE: '1' });
  await api(strict).ingest('pump.md', '# Pump manual\n\nThe pump P-204 circulates coolant.');
  const { page, close } = await visit(browser, strict.page, { hash: '#/chat', allow: /429/ });
  await converse(page, 'What does the pump circulate?');
  await page.getByRole('link', { name: words.newConversation, exact: true }).first().click();
  await ask(page, 'Which pump is it?');
  await page
    .getByText(/at most 1 question|rate limit|too many/i)
    .first()
    .waitFor();
  await expect.poll(() => composer(page).inputValue()).toBe('Which pump is it?');
  expect(new URL(page.url()).hash).toBe('#/chat');
  const kept = async () => (await (await api(strict).call('/core/api/conversations')).json()).conversations;
  await expect.poll(async () => (await kept()).length).toBe(1);
  expect((await kept())[0].messages).toBe(2);
  await close();
  await strict.stop();
});

it('says how many documents are still being read', async () => {
  const user = await api(program).makeUser('reader');
  const text = (n: number) => `The pump ${n} circulates coolant. `.repeat(1500);
  const send = (n: number) => {
    const body = new FormData();
    body.append('userId', user.id);
    body.append('file', new Blob([text(n)]), `${n}.txt`);
    const headers = { Prefer: 'respond-async' };
    return api(program).call('/core/api/ingest', { method: 'POST', body, headers });
  };
  const { page, close } = await open({ user });
  await Promise.all(Array.from({ length: 30 }, (_, n) => send(n)));
  vendorSays('It circulates coolant [1].');
  await ask(page, 'What is the opera about the quokka?');
  await answered(page);
  const said = answers(page)
    .last()
    .getByText(/of 30 documents are still being read\./);
  await said.waitFor();
  expect(await said.count(), 'said once').toBe(1);
  await close();
});

it('writes formulas, and leaves prices, code and unfinished formulas as they are', async () => {
  const formula = '$$\n\\mathbb{R} \\ni x_1 = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}\n$$';
  const text = `The seal of $n$ pumps lasts $500 \\cdot n$ hours [1].\n\n${formula}\n\nIt costs $5 and $10, \`$x$\` is code, $\\frac{1$ is broken [1].`;
  vendorSays(text, 150);
  const { page, close } = await open();
  await ask(page, 'How long do the seals of the pumps last, as a formula?');
  const shown = answers(page).last().locator('.markdown');
  // While a formula is written, it is text; what came before it is there.
  await expect.poll(() => shown.textContent()).toMatch(/\$\$\s*\\mathbb\{R\} \\ni x_1/);
  expect(await shown.locator('math').count()).toBe(2);
  vendorSays(text);
  await answered(page);
  expect(await shown.locator('math').count()).toBe(3);
  const block = shown.locator('math[display=block]');
  expect(await block.locator('mfrac').count()).toBe(1);
  expect(await block.textContent()).toContain('ℝ∋');
  for (const plain of ['$5 and $10', '$x$ is code', '$\\frac{1$ is broken'])
    expect(await shown.textContent()).toContain(plain);
  expect(await shown.locator('[style]').count()).toBe(0);
  // A fraction is higher than a line: it is laid out, and not only there.
  expect((await block.boundingBox())!.height).toBeGreaterThan(30);
  const hash = new URL(page.url()).hash;
  await close();
  await checkLooks(browser, program.page, hash, (page) => page.locator('math[display=block]').waitFor());
});
