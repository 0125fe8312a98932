import { knowledge, ok, portal, supervisor } from '$lib/api/client';
import { href } from '$lib/router.svelte';
import { words } from '$words/shell';

export type Found = { group: string; key: string; title: string; detail?: string; href: string };

/** Looks for a text in all services at once. A service that fails leaves its group out. */
export async function find(text: string, signal: AbortSignal): Promise<Found[]> {
  const groups = await Promise.allSettled([
    documents(text, signal),
    projects(text, signal),
    conversations(text, signal),
    entries(text, signal),
  ]);
  return groups.flatMap((group) => (group.status === 'fulfilled' ? group.value : []));
}

async function documents(title: string, signal: AbortSignal): Promise<Found[]> {
  const answer = await ok(
    knowledge.GET('/api/documents', { params: { query: { title, limit: 6 } }, signal }),
  );
  return answer.documents.map((document) => ({
    group: words.palette.groups.documents,
    key: document.id,
    title: document.title,
    detail: document.filename,
    href: href(['documents', document.id]),
  }));
}

async function projects(text: string, signal: AbortSignal): Promise<Found[]> {
  const all = await ok(supervisor.GET('/api/projects', { params: { query: { limit: 200 } }, signal }));
  const fitting = all.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()));
  return fitting.slice(0, 6).map(({ id, name, current_phase }) => ({
    group: words.palette.groups.projects,
    key: id,
    title: name,
    detail: current_phase,
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
