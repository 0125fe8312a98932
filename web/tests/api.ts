/* What tests ask of the services directly, as the first administrator: the things that a screen then shows. */
import { createHash } from 'node:crypto';
import { ADMIN, type Program } from './harness';

type Json = Record<string, unknown>;
export type TestUser = { id: string; username: string; password: string };

export type Api = ReturnType<typeof connect>;
const connected = new WeakMap<Program, Api>();

/** The services of a program, with one sign-in for all calls. */
export function api(program: Program): Api {
  const known = connected.get(program) ?? connect(program);
  connected.set(program, known);
  return known;
}

function connect({ gateway }: Program) {
  let cookie: Promise<string> | null = null;
  let token: Promise<string> | null = null;

  async function session(): Promise<string> {
    const password = createHash('sha256')
      .update(ADMIN.username + ADMIN.password)
      .digest('hex');
    const body = JSON.stringify({ username: ADMIN.username, password });
    const response = await fetch(`${gateway}/core/api/auth/login`, { method: 'POST', body });
    return response.headers.get('Set-Cookie')!.split(';')[0]!;
  }
  async function gatewayToken(): Promise<string> {
    const response = await fetch(`${gateway}/auth/login`, { method: 'POST', body: JSON.stringify(ADMIN) });
    return (await response.json()).token;
  }

  /** Sends a request as the administrator and returns the answer, which must be a success. */
  async function call(path: string, init: RequestInit = {}): Promise<Response> {
    const headers: Record<string, string> = path.startsWith('/core/')
      ? { Cookie: await (cookie ??= session()) }
      : { Authorization: `Bearer ${await (token ??= gatewayToken())}` };
    const response = await fetch(gateway + path, {
      ...init,
      headers: { ...headers, ...(init.headers as object) },
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  }
  const post = async (path: string, body: Json) =>
    (await call(path, { method: 'POST', body: JSON.stringify(body) })).json();

  return {
    call,
    post,
    makeEntry: (kind: string, entry: Json): Promise<Json & { id: string }> =>
      post(`/kv/api/portal/${kind}s`, entry),
    changeEntry: (kind: string, id: string, patch: Json) =>
      call(`/kv/api/portal/${kind}s/${id}`, { method: 'PATCH', body: JSON.stringify(patch) }),
    makeProject: (name: string, more: Json = {}): Promise<{ id: string }> =>
      post('/build/api/projects', { name, product_seed: name, ...more }),
    /** Makes a space, in the place of one that an earlier try of the test has left. */
    async makeSpace(name: string, more: Json = {}): Promise<{ id: string }> {
      const { spaces } = await (await call('/core/api/spaces')).json();
      for (const left of spaces.filter((space: Json) => space.name === name))
        await call(`/core/api/spaces/${left.id}`, { method: 'DELETE' });
      return (await post('/core/api/spaces', { name, ...more })).space;
    },
    addMember: (spaceId: string, user: string, role: 'reader' | 'editor') =>
      post(`/core/api/spaces/${spaceId}/members`, { user, role }),
    async ingest(name: string, text: string, spaceId?: string): Promise<string> {
      const body = new FormData();
      if (spaceId) body.append('spaceId', spaceId);
      body.append('file', new Blob([text], { type: 'text/plain' }), name);
      return (await (await call('/core/api/ingest', { method: 'POST', body })).json()).documentId;
    },
    /** Makes a user, in the place of one that an earlier try of the test has left. */
    async makeUser(username: string): Promise<TestUser> {
      const { users } = await (await call('/core/api/users?limit=1000')).json();
      for (const left of users.filter((user: Json) => user.username === username))
        await call(`/core/api/users/${left.id}`, { method: 'DELETE' });
      const password = `password of ${username}`;
      const body = new FormData();
      for (const [name, value] of Object.entries({
        name: username,
        username,
        password,
        email: `${username}@example.org`,
      }))
        body.append(name, value);
      const { userId } = await (await call('/core/api/signup', { method: 'POST', body })).json();
      return { id: userId, username, password };
    },
  };
}
