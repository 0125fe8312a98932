import { knowledge, nextPage, ok, portal, supervisor, whole } from '$lib/api/client';
import type { ListedProject } from '$lib/api/types/supervisor';
import { href } from '$lib/router.svelte';
import { type Space, spaces } from '$lib/spaces/spaces.svelte';
import { words } from '$words/shell';
import { readable } from '../screens/projects/names';

export type Found = { group: string; key: string; title: string; detail?: string; href: string };

/** Looks for texts in all services at once. A service that fails leaves its group out. */
export class Finder {
  /** Read once, with the first text: the service cannot filter them by name. */
  #projects: Promise<ListedProject[]> | null = null;

  async find(text: string, signal: AbortSignal): Promise<Found[]> {
    spaces.start();
    this.#projects ??= allProjects();
    const groups = await Promise.allSettled([
      documents(text, signal),
      sharedDocuments(text, signal),
      Promise.resolve(fittingSpaces(text)),
      this.#projects.then((all) => projects(text, all)),
      conversations(text, signal),
      entries(text, signal),
    ]);
    if (groups[3].status === 'rejected') this.#projects = null;
    return groups.flatMap((group) => (group.status === 'fulfilled' ? group.value : []));
  }
}

/** Finds documents of a space by their titles; without one, the user's own. */
async function documents(title: string, signal: AbortSignal, space?: Space): Promise<Found[]> {
  const query = { title, limit: 6, spaceId: space?.id };
  const answer = await ok(knowledge.GET('/api/documents', { params: { query }, signal }));
  return answer.documents.map((document) => ({
    group: words.palette.groups.documents,
    key: document.id,
    title: document.title,
    detail: space?.name ?? document.filename,
    href: href(['documents', document.id], { spaceId: space?.id }),
  }));
}

/** More would be as many requests for each pause in typing. */
const MOST_SPACES = 4;

async function sharedDocuments(title: string, signal: AbortSignal): Promise<Found[]> {
  const searched = spaces.list.filter(({ documents }) => documents > 0).slice(0, MOST_SPACES);
  const found = await Promise.allSettled(searched.map((space) => documents(title, signal, space)));
  return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
}

function fittingSpaces(text: string): Found[] {
  const fitting = spaces.list.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()));
  return fitting.slice(0, 6).map(({ id, name }) => ({
    group: words.palette.groups.spaces,
    key: `space ${id}`,
    title: name,
    href: href('/documents', { spaceId: id }),
  }));
}

async function allProjects(): Promise<ListedProject[]> {
  const found: ListedProject[] = [];
  let after: string | null = null;
  do {
    const query: { limit: number; after?: string } = { limit: 1000, after: after ?? undefined };
    const page: { data: ListedProject[]; headers: Headers } = await whole(
      supervisor.GET('/api/projects', { params: { query } }),
    );
    found.push(...page.data);
    after = nextPage(page.headers);
  } while (after);
  return found;
}

function projects(text: string, all: ListedProject[]): Found[] {
  const fitting = all.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()));
  return fitting.slice(0, 6).map(({ id, name, current_phase }) => ({
    group: words.palette.groups.projects,
    key: id,
    title: name,
    detail: readable(current_phase),
    href: href(['projects', id]),
  }));
}

async function conversations(q: string, signal: AbortSignal): Promise<Found[]> {
  const answer = await ok(
    knowledge.GET('/api/conversations', { params: { query: { q, limit: 5 } }, signal }),
  );
  return answer.conversations.map(({ id, title }) => ({
    group: words.palette.groups.conversations,
    key: id,
    title,
    href: href(['chat', id]),
  }));
}

async function entries(q: string, signal: AbortSignal): Promise<Found[]> {
  const answer = await ok(portal.GET('/api/portal/search', { params: { query: { q, limit: 6 } }, signal }));
  return answer.results.map(({ id, type, title }) => ({
    group: words.palette.groups.entries,
    key: `${type} ${id}`,
    title,
    detail: type,
    href: href('/', { show: `${type}:${id}` }),
  }));
}
