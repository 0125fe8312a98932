import type { Goal, Page, Task, Team, Tool, Update } from '$lib/api/types/portal';
import { words } from '$words/home';

/** The kinds of entries that administrators change here. Teams come from a file. */
export type Kind = 'update' | 'goal' | 'task' | 'tool' | 'page';
export type AnyKind = Kind | 'team';

export type Entries = { update: Update; goal: Goal; task: Task; tool: Tool; page: Page; team: Team };
export type { Goal, Page, Task, Team, Tool, Update };
export type Entry = Entries[Kind];

export const KINDS: Kind[] = ['update', 'goal', 'task', 'tool', 'page'];

/** The address of a kind's entries. */
export function pathOf(kind: Kind, id?: string): string {
  return `/api/portal/${kind}s${id === undefined ? '' : `/${encodeURIComponent(id)}`}`;
}

export function titleOf(entry: Entry | Team): string {
  return 'title' in entry ? entry.title : entry.name;
}

/** A team has no id: its name is unique. */
export function idOf(entry: Entry | Team): string {
  return 'id' in entry ? entry.id : entry.name;
}

export type FieldKind =
  'line' | 'text' | 'tags' | 'flag' | 'percent' | 'date' | 'url' | 'status' | 'person' | 'project';
export type Field = { name: string; kind: FieldKind; required?: boolean };

const field = (name: string, kind: FieldKind = 'line', required = false): Field => ({ name, kind, required });

/** The fields of each kind, in the order of its form. */
export const FIELDS: Record<Kind, Field[]> = {
  update: [
    field('title', 'line', true),
    field('body', 'text'),
    field('author'),
    field('category'),
    field('tags', 'tags'),
    field('pinned', 'flag'),
  ],
  goal: [
    field('title', 'line', true),
    field('description', 'text'),
    field('owner', 'person'),
    field('status', 'status'),
    field('progress', 'percent'),
    field('dueAt', 'date'),
  ],
  task: [
    field('title', 'line', true),
    field('status', 'status'),
    field('assignee', 'person'),
    field('dueAt', 'date'),
    field('url', 'url'),
    field('projectId', 'project'),
  ],
  tool: [
    field('name', 'line', true),
    field('url', 'url', true),
    field('description', 'text'),
    field('category'),
  ],
  page: [field('title', 'line', true), field('slug'), field('body', 'text')],
};

/** The statuses that are offered. An entry may have another one: programs write what they like. */
export const STATUSES: Partial<Record<Kind, string[]>> = {
  goal: ['planned', 'on track', 'at risk', 'behind', 'reached'],
  task: ['open', 'in progress', 'waiting', 'done'],
};
/** The statuses of a task that is ticked off, and of one that is not any more. */
export const DONE = 'done';
export const OPEN = 'open';

const FINISHED = ['done', 'closed', 'complete', 'completed', 'finished', 'cancelled'];

export function isDone(task: Task): boolean {
  return FINISHED.includes(task.status.trim().toLowerCase());
}

export function isOverdue(entry: Task | Goal, now = Date.now()): boolean {
  const finished = 'progress' in entry ? entry.progress >= 100 : isDone(entry);
  return !finished && entry.dueAt !== null && entry.dueAt < now;
}

/** Puts what matters first: pinned updates; open tasks and unfinished goals, the most urgent first. */
export function inOrder<K extends Kind>(kind: K, entries: Entries[K][]): Entries[K][] {
  const due = (entry: Task | Goal) => entry.dueAt ?? Infinity;
  const rank = (entry: Entry): number[] => {
    if (kind === 'update') return [(entry as Update).pinned ? 0 : 1];
    if (kind === 'task') return [isDone(entry as Task) ? 1 : 0, due(entry as Task)];
    if (kind === 'goal') return [(entry as Goal).progress >= 100 ? 1 : 0, due(entry as Goal)];
    return [];
  };
  return [...entries].sort((a, b) => {
    const [first, second] = [rank(a), rank(b)];
    const at = first.findIndex((value, index) => value !== second[index]);
    return at < 0 ? 0 : first[at]! < second[at]! ? -1 : 1;
  });
}

export function labelOf(name: string): string {
  return words.fields[name] ?? name;
}
