/* Spaces: made, shared, found by their members in search, answers and the graph, left and deleted. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { words as chat } from '$words/chat';
import { words as documents } from '$words/documents';
import { words as search } from '$words/search';
import { words } from '$words/spaces';
import { api } from './api';
import { answered, answers, ask, browser, open, program, questions, startForChat, vendorSays } from './chat';
import { row } from './documents';
import { addFiles, textFile } from './files';
import { checkEachLook, settled } from './harness';

startForChat();

const pane = (page: Page, name: string) => page.getByRole('complementary', { name });
const spaceIn = (page: Page) => new URLSearchParams(new URL(page.url()).hash.split('?')[1]).get('spaceId');
const results = (page: Page) => page.getByRole('list', { name: search.list }).getByRole('link');
async function lookIn(page: Page, ...places: string[]): Promise<void> {
  await page.getByRole('button', { name: words.scope.label }).click();
  const list = page.getByRole('dialog', { name: words.scope.label });
  for (const place of places) await list.getByLabel(place, { exact: true }).click();
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'detached' });
}

describe('a space', () => {
  it('is made, gets a member and a document, and the member finds it', async () => {
    const ada = await api(program).makeUser('ada');
    const admin = await open({ hash: '#/spaces', allow: /404.*members/ });
    await admin.page.getByRole('link', { name: words.create }).click();
    const dialog = admin.page.getByRole('dialog', { name: words.new.title });
    await dialog.getByLabel(words.new.name).fill('Maintenance');
    await dialog.getByLabel(words.new.description).fill('Manuals of the pump house.');
    await dialog.getByRole('button', { name: words.new.action }).click();

    // A name that is not known is said where it was typed.
    const space = pane(admin.page, 'Maintenance');
    await space.getByLabel(words.members.user).fill('nobody of this name');
    await space.getByRole('button', { name: words.members.add, exact: true }).click();
    await space.getByRole('alert').filter({ hasText: 'nobody of this name' }).waitFor();
    await space.getByLabel(words.members.user).fill('ada@example.org');
    await space.getByRole('button', { name: words.members.add, exact: true }).click();
    await space.getByText(words.members.added('ada')).waitFor();
    expect(await space.getByLabel(words.members.role('ada')).inputValue()).toBe('reader');

    await space.getByRole('link', { name: words.open }).click();
    await admin.page.getByText(words.documents.empty.title).waitFor();
    expect(await admin.page.getByLabel(words.whose).locator('option:checked').innerText()).toBe(
      'Maintenance',
    );
    await addFiles(
      admin.page,
      textFile('impeller.md', '# Impeller\n\nAda Solberg inspected the quagga impeller in May.'),
    );
    await row(admin.page, 'Impeller').getByText(documents.status.indexed).waitFor({ timeout: 30_000 });

    // Another place is a step of the history.
    const spaceId = spaceIn(admin.page);
    await admin.page.getByLabel(words.whose).selectOption({ label: words.mine });
    await row(admin.page, 'Pump manual').waitFor();
    expect(spaceIn(admin.page)).toBeNull();
    await admin.page.goBack();
    await row(admin.page, 'Impeller').waitFor();
    expect(spaceIn(admin.page)).toBe(spaceId);
    await admin.close();

    const member = await open({ user: ada, hash: '#/search?q=quagga+impeller' });
    await results(member.page).first().getByText('Maintenance').waitFor();
    await lookIn(member.page, words.mine);
    await member.page.getByText(search.nothing.filtered).waitFor();
    expect(member.page.url()).toContain('in=mine');
    await lookIn(member.page, 'Maintenance', words.mine);
    await results(member.page).first().waitFor();
    expect(member.page.url()).toContain(`in=${spaceId}`);
    await member.page.reload();
    await results(member.page).first().getByText('Maintenance').waitFor();

    // A reader finds and reads, and is told why nothing can be added.
    await member.page.goto(`${program.page}#/documents?spaceId=${spaceId}`);
    await row(member.page, 'Impeller').waitFor();
    await member.page.getByText(words.documents.reader('Maintenance')).waitFor();
    expect(await member.page.getByRole('button', { name: documents.add }).count()).toBe(0);
    await row(member.page, 'Impeller').getByRole('link').click();
    await member.page.getByText('Ada Solberg inspected').waitFor();

    // Out of the space, nothing of it is left.
    await api(program).call(`/core/api/spaces/${spaceId}/members/${ada.id}`, { method: 'DELETE' });
    await member.page.goto(`${program.page}#/documents?spaceId=${spaceId}`);
    await member.page.reload();
    await member.page.getByText(words.gone.title).waitFor();
    await member.page.goto(`${program.page}#/spaces`);
    await member.page.getByText(words.empty.textWait).waitFor();
    member.faults.length = 0;
    await member.close();
  });

  it('can be what a question is about, and is named beside its sources', async () => {
    const space = await api(program).makeSpace('Laboratory');
    await api(program).ingest('okapi.md', '# Okapi\n\nThe okapi valve opens at 40 degrees.', space.id);
    vendorSays('It opens at 40 degrees [1].');
    const { page, close } = await open();
    await lookIn(page, 'Laboratory');
    await page.getByRole('group', { name: chat.scope.place }).getByText('Laboratory').waitFor();
    await ask(page, 'When does the okapi valve open?');
    await answered(page);
    const sources = answers(page).last().getByRole('list', { name: chat.source.list });
    await sources.getByText('Laboratory').first().waitFor();
    expect(await sources.getByRole('button').allInnerTexts()).not.toContain('Pump manual');
    await questions(page).last().getByRole('link', { name: 'Laboratory' }).waitFor();
    // After a reload the question still says it, and the next one is about the same space.
    await page.reload();
    await questions(page).last().getByRole('link', { name: 'Laboratory' }).waitFor();
    await page.getByRole('button', { name: chat.scope.remove('Laboratory') }).click();
    await page
      .getByRole('group', { name: chat.scope.place })
      .filter({ has: page.getByRole('button') })
      .waitFor({ state: 'detached' });
    await close();
  });

  it('has a graph of its own', async () => {
    const space = await api(program).makeSpace('Archive');
    await api(program).ingest(
      'zebra.md',
      '# Zebra\n\nMarie Curie met Albert Einstein in Brussels.',
      space.id,
    );
    const { page, close } = await open({ hash: '#/graph?as=list' });
    await page.getByRole('listitem').filter({ hasText: 'Solberg' }).first().waitFor();
    await lookIn(page, 'Archive');
    // The graph of everything has both.
    await page.getByRole('listitem').filter({ hasText: 'Solberg' }).first().waitFor({ state: 'detached' });
    await page.getByRole('listitem').filter({ hasText: 'Marie Curie' }).first().waitFor();
    await close();
  });

  it('is changed, has a quota, and is deleted after what is lost was named', async () => {
    const space = await api(program).makeSpace('Old name');
    await api(program).ingest('lost.md', '# Lost\n\nThis will be lost.', space.id);
    const { page, close } = await open({ hash: `#/spaces/${space.id}` });
    const about = pane(page, 'Old name');
    await about.getByLabel(words.new.name, { exact: true }).fill('New name');
    await about.getByLabel(words.everyone.label).selectOption({ label: words.everyone.reader });
    await about.getByLabel(words.quota.label, { exact: true }).fill('5');
    await about.getByLabel(words.quota.unit).selectOption('MB');
    await about.getByRole('button', { name: 'Save' }).click();
    const renamed = pane(page, 'New name');
    await renamed.getByText(words.saved).waitFor();
    await renamed.getByText(words.everyone.is.reader).waitFor();
    await renamed.getByText(/ of 5\.0 MB/).waitFor();
    await page.getByRole('list', { name: words.list.label }).getByText('New name').waitFor();

    await renamed.getByRole('button', { name: words.delete.action }).click();
    const dialog = page.getByRole('dialog', { name: words.delete.title('New name') });
    await dialog.getByText('1 document').waitFor();
    await dialog.getByRole('button', { name: words.delete.confirm }).click();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByText('New name').count()).toBe(0);
    expect(new URL(page.url()).hash).toBe('#/spaces');
    await close();
  });

  it('is left by a member', async () => {
    const bea = await api(program).makeUser('bea');
    const space = await api(program).makeSpace('Short stay');
    await api(program).addMember(space.id, 'bea', 'editor');
    const { page, close } = await open({ user: bea, hash: `#/spaces/${space.id}` });
    const about = pane(page, 'Short stay');
    expect(await about.getByLabel(words.members.user).count()).toBe(0);
    await about.getByRole('button', { name: words.leave.action }).click();
    const dialog = page.getByRole('dialog', { name: words.leave.title('Short stay') });
    await dialog.getByRole('button', { name: words.leave.action }).click();
    await page.getByText(words.empty.textWait).waitFor();
    await close();
  });

  it('is listed for administrators who are not in it', async () => {
    const space = await api(program).makeSpace('Without me');
    const me = (await (await api(program).call('/core/api/auth/session')).json()).user.id;
    await api(program).call(`/core/api/spaces/${space.id}/members/${me}`, { method: 'DELETE' });
    const { page, close } = await open({ hash: '#/spaces' });
    await settled(page);
    const listed = page.getByRole('list', { name: words.list.label }).getByText('Without me');
    expect(await listed.count()).toBe(0);
    await page.getByLabel(words.list.all).check();
    await listed.waitFor();
    await page.getByText(words.list.others).first().waitFor();
    await close();
  });
});

describe('looks', () => {
  it('is accessible and fits, with long and hostile names', async () => {
    const script = '<img src=x onerror=alert(1)>';
    const space = await api(program).makeSpace(script, {
      description: 'A description of this space. '.repeat(20),
    });
    await api(program).makeSpace('very long name '.repeat(6).trim(), { everyone: 'editor' });
    await api(program).ingest('مستند عن المضخات.txt', 'هذا مستند.', space.id);
    await checkEachLook(
      browser,
      program.page,
      [
        ['#/spaces', (page) => page.getByText(script).first().waitFor()],
        [
          `#/spaces/${space.id}`,
          (page) => page.getByRole('heading', { name: words.members.title }).waitFor(),
        ],
        ['#/spaces?new=1', (page) => page.getByRole('dialog').waitFor()],
        [`#/documents?spaceId=${space.id}`, (page) => row(page, 'مستند').waitFor()],
        [`#/search?q=pump&in=mine,${space.id}`, (page) => results(page).first().waitFor()],
        [`#/chat?in=${space.id}`, (page) => page.getByRole('group', { name: chat.scope.place }).waitFor()],
      ],
      360,
    );
  });
});
