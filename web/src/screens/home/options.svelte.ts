import { fetchOk, nextPage, supervisor } from '$lib/api/client';
import type { User } from '$lib/api/types/knowledge';
import { words } from '$words/home';
import { allPages } from '../projects/pages';
import { type Field, type Kind, STATUSES } from './kinds';
import { teams } from './teams.svelte';

/** What can be chosen in a field. */
export type Option = { value: string; label: string };

/** The people and the projects that an entry can name. */
class Options {
  #users = $state.raw<string[]>([]);
  #projects = $state.raw<Option[]>([]);
  /** Lists that could not be read. */
  failed = $state.raw<ReadonlySet<Field['kind']>>(new Set());

  /** Reads what the form of a kind offers. */
  async load(kinds: Field['kind'][]): Promise<void> {
    this.failed = new Set();
    await Promise.all([
      kinds.includes('person') && this.#read('person', async () => (this.#users = await userNames())),
      kinds.includes('project') && this.#read('project', async () => (this.#projects = await projects())),
    ]);
  }

  /** Returns what a field offers, with the value that it has. */
  of(kind: Kind, field: Field, value: string): Option[] {
    const known = this.#known(kind, field);
    const is = ({ value: other }: Option) => other === value;
    const own = { value, label: field.kind === 'project' ? words.unknownProject(value) : value };
    return [
      { value: '', label: words.noneChosen },
      ...known,
      ...(value === '' || known.some(is) ? [] : [own]),
    ];
  }

  #known(kind: Kind, field: Field): Option[] {
    if (field.kind === 'project') return this.#projects;
    if (field.kind === 'status')
      return (STATUSES[kind] ?? []).map((value) => ({ value, label: words.statuses[value] ?? value }));
    const members = (teams.list ?? []).flatMap(({ lead, members }) => [
      lead,
      ...members.map(({ name }) => name),
    ]);
    const names = new Set([...this.#users, ...members].filter(Boolean));
    return [...names].sort((a, b) => a.localeCompare(b)).map((value) => ({ value, label: value }));
  }

  async #read(kind: Field['kind'], read: () => Promise<unknown>): Promise<void> {
    await read().catch(() => (this.failed = new Set([...this.failed, kind])));
  }
}

export const options = new Options();

async function userNames(): Promise<string[]> {
  const names: string[] = [];
  let after: string | null = null;
  do {
    const path: string = `/api/users${after ? `?after=${encodeURIComponent(after)}` : ''}`;
    const response = await fetchOk('core', path);
    const { users }: { users: User[] } = await response.json();
    names.push(...users.map(({ name, username }) => name || username));
    after = nextPage(response.headers);
  } while (after);
  return names;
}

async function projects(): Promise<Option[]> {
  const all = await allPages((after) =>
    supervisor.GET('/api/projects', { params: { query: { limit: 1000, after } } }),
  );
  return all
    .map(({ id, name }) => ({ value: id, label: name }))
    .sort((a, b) => a.label.localeCompare(b.label));
}
