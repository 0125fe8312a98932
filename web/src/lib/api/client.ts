import { address, type Service } from '../address';
import { session } from '../session.svelte';
import { Failure, failure, failureFrom } from './failure';
import type { paths as GatewayPaths } from './types/gateway';
import type { paths as KnowledgePaths } from './types/knowledge';
import type { paths as LeadsPaths } from './types/leads';
import type { paths as PortalPaths } from './types/portal';
import type { paths as SupervisorPaths } from './types/supervisor';
import createClient from 'openapi-fetch';

/*
 * Typed clients of the services, through the gateway. Use them with `ok`, which throws a `Failure`:
 *
 *   const { documents } = await ok(knowledge.GET('/api/documents', { params: { query: { limit: 100 } } }));
 */
export const login = createClient<GatewayPaths>({
  baseUrl: base('gateway'),
  fetch: (request) => send('gateway', request),
});
export const knowledge = createClient<KnowledgePaths>({
  baseUrl: base('core'),
  fetch: (request) => send('core', request),
});
export const supervisor = createClient<SupervisorPaths>({
  baseUrl: base('build'),
  fetch: (request) => send('build', request),
});
export const portal = createClient<PortalPaths>({
  baseUrl: base('kv'),
  fetch: (request) => send('kv', request),
});
export const leads = createClient<LeadsPaths>({
  baseUrl: base('kv'),
  fetch: (request) => send('kv', request),
});

function base(service: Service): string {
  return address(service, '').replace(/\/$/, '');
}

/** Returns the body of a successful answer, and throws a `Failure` otherwise. */
export async function ok<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  return (await whole(call)).data;
}

/** As `ok`, with the answer's headers: `ETag`, and `Link`, which `nextPage` reads. */
export async function whole<T>(
  call: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<{ data: T; headers: Headers }> {
  let answer;
  try {
    answer = await call;
  } catch (thrown) {
    throw failure(thrown);
  }
  if (!answer.response.ok) throw failureFrom(answer.response, (answer.error as object | undefined) ?? '');
  return { data: answer.data as T, headers: answer.response.headers };
}

/** Returns the parameter `after` of the next page that a list's `Link` header names, or null at the end. */
export function nextPage(headers: Headers): string | null {
  const next = /<\?([^>]*)>;\s*rel="next"/.exec(headers.get('Link') ?? '');
  return next ? new URLSearchParams(next[1]).get('after') : null;
}

/** Sends a request that no typed client covers: streams, uploads, downloads. Throws a `Failure` if there is no answer. */
export async function request(service: Service, path: string, init: RequestInit = {}): Promise<Response> {
  try {
    return await send(service, new Request(address(service, path), init));
  } catch (thrown) {
    if (thrown instanceof DOMException && thrown.name === 'AbortError') throw thrown;
    throw failure(thrown);
  }
}

/** As `request`, and throws a `Failure` for an answer that is no success. */
export async function fetchOk(service: Service, path: string, init: RequestInit = {}): Promise<Response> {
  const response = await request(service, path, init);
  if (!response.ok) throw failureFrom(response, await response.text().catch(() => ''));
  return response;
}

/**
 * Sends a request as the caller. The knowledge service knows the caller by the session's cookie; the others want a
 * gateway token, which is renewed once if it has expired. If the session has ended, a request that was not carried out
 * waits until the user has signed in again; what would change something at the knowledge service fails instead.
 */
async function send(service: Service, request: Request): Promise<Response> {
  if (service === 'gateway') return fetch(request);
  if (service === 'core') {
    const response = await fetch(request);
    if (response.status !== 401) return response;
    session.end();
    return request.method === 'GET' && (await session.returned(request.signal)) ? fetch(request) : response;
  }
  let token = await session.token();
  if (!token && (await session.returned(request.signal))) token = await session.token();
  const again = request.clone();
  const response = await fetch(withToken(request, token));
  if (response.status !== 401 && response.status !== 403) return response;
  const body = await response
    .clone()
    .json()
    .catch(() => null);
  if (response.status === 403 && body?.code !== 'INVALID_TOKEN') return response;
  return fetch(withToken(again, await session.token({ renew: true })));
}

function withToken(request: Request, token: string | null): Request {
  if (token) request.headers.set('Authorization', `Bearer ${token}`);
  return request;
}

export { Failure };
