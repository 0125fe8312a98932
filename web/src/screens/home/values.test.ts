import { describe, expect, it } from 'vitest';
import type { Goal, Update } from './kinds';
import { inOrder, isOverdue } from './kinds';
import { destination } from './links';
import { parse } from './place';
import { changes, chosen, differences, newEntry, valuesOf } from './values';

const update: Update = {
  id: 'a',
  title: 'New printers',
  body: 'Third floor',
  author: 'Ada',
  category: '',
  tags: ['office', 'paper'],
  pinned: false,
  createdAt: 1,
  updatedAt: 1,
};

describe('the form of an entry', () => {
  it('sends only what was changed, and null for what was emptied', () => {
    const base = valuesOf('update', update);
    expect(changes('update', base, base)).toEqual({});
    const values = { ...base, author: ' ', tags: 'office, ,paper, toner', pinned: true };
    expect(changes('update', base, values)).toEqual({
      author: null,
      tags: ['office', 'paper', 'toner'],
      pinned: true,
    });
  });

  it('leaves the time of a due date alone unless the day is changed', () => {
    const goal = { title: 'x', dueAt: new Date(2026, 10, 3, 15, 30).getTime(), progress: 12.5 } as Goal;
    const base = valuesOf('goal', goal);
    expect(base.dueAt).toBe('2026-11-03');
    expect(changes('goal', base, { ...base })).toEqual({});
    expect(changes('goal', base, { ...base, dueAt: '2026-11-04' })).toEqual({
      dueAt: new Date(2026, 10, 4).getTime(),
    });
    expect(changes('goal', base, { ...base, dueAt: '', progress: '50' })).toEqual({
      dueAt: null,
      progress: 50,
    });
  });

  it('makes a new entry of what was filled in', () => {
    const values = { ...valuesOf('tool'), name: 'Mail', url: '/core/' };
    expect(newEntry('tool', values)).toEqual({ name: 'Mail', url: '/core/' });
  });
});

describe('two changes of the same entry', () => {
  const base = valuesOf('update', update);
  const theirs = { ...base, title: 'Their title', body: 'Their text' };
  const yours = { ...base, title: 'Your title', author: 'Bob' };

  it('shows each field that differs, and keeps what only one side changed', () => {
    expect(differences('update', base, theirs, yours)).toEqual([
      { name: 'title', theirs: 'Their title', yours: 'Your title', kept: 'theirs' },
      { name: 'body', theirs: 'Their text', yours: 'Third floor', kept: 'theirs' },
      { name: 'author', theirs: 'Ada', yours: 'Bob', kept: 'yours' },
    ]);
  });

  it('saves the choice', () => {
    const fields = differences('update', base, theirs, yours);
    const result = chosen(theirs, fields);
    expect(result).toEqual({ ...base, title: 'Their title', body: 'Their text', author: 'Bob' });
    expect(changes('update', theirs, result)).toEqual({ author: 'Bob' });
  });
});

describe('links of entries', () => {
  it('follows web addresses and paths of this installation, and nothing else', () => {
    expect(destination('https://mail.example.org/')).toBe('https://mail.example.org/');
    const path = destination('/core/docs');
    expect(path).toMatch(/core\/docs$/);
    for (const bad of ['javascript:alert(1)', 'data:text/html,x', '//evil.example', 'mail', '', 'vbscript:x'])
      expect(destination(bad), bad).toBeNull();
  });

  it('reads addresses of entries, also of teams with colons', () => {
    expect(parse('team:A: the best')).toEqual({ kind: 'team', id: 'A: the best' });
    expect(parse('lead:1')).toBeNull();
    expect(parse(null)).toBeNull();
  });
});

describe('the order of entries', () => {
  it('puts pinned updates and unfinished goals first', () => {
    const pinned = { ...update, id: 'b', pinned: true };
    expect(inOrder('update', [update, pinned]).map(({ id }) => id)).toEqual(['b', 'a']);
    const goals = [
      { id: 'late', progress: 10, dueAt: 5 },
      { id: 'done', progress: 100, dueAt: 1 },
      { id: 'never', progress: 0, dueAt: null },
    ] as Goal[];
    expect(inOrder('goal', goals).map(({ id }) => id)).toEqual(['late', 'never', 'done']);
    expect(goals.map((goal) => isOverdue(goal, 10))).toEqual([true, false, false]);
  });
});
