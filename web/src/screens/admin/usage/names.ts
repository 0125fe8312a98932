import { fetchOk, nextPage, supervisor } from '$lib/api/client';
import type { User } from '$lib/api/types/knowledge';
import { allPages } from '../../projects/pages';

export type Named = { id: string; name: string };

/** Returns the users and the projects that can have a budget of their own, by name. What cannot be read is left out. */
export async function namesOf(): Promise<{ users: Named[]; projects: Named[] }> {
  const [users, projects] = await Promise.all([readUsers().catch(() => []), readProjects().catch(() => [])]);
  const byName = (a: Named, b: Named) => a.name.localeCompare(b.name);
  return { users: users.sort(byName), projects: projects.sort(byName) };
}

async function readUsers(): Promise<Named[]> {
  const found: Named[] = [];
  let after: string | null = null;
  do {
    const path: string = `/api/users?limit=1000${after ? `&after=${encodeURIComponent(after)}` : ''}`;
    const response = await fetchOk('core', path);
    const { users }: { users: User[] } = await response.json();
    found.push(...users.map(({ id, name, username }) => ({ id, name: name || username })));
    after = nextPage(response.headers);
  } while (after);
  return found;
}

async function readProjects(): Promise<Named[]> {
  const all = await allPages((after) =>
    supervisor.GET('/api/projects', { params: { query: { limit: 1000, after } } }),
  );
  return all.map(({ id, name }) => ({ id, name }));
}
