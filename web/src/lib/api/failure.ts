import { words } from '$words/common';
import { plainly } from '../plainly';

/** The code of a refusal because a budget of the day is used up. */
const BUDGET_USED_UP = 'BUDGET_USED_UP';

/** Why a request failed, as one shape for all services. */
export class Failure extends Error {
  constructor(
    message: string,
    /** The HTTP status; 0 if no answer came. */
    readonly status: number,
    readonly code: string | null = null,
    readonly requestId: string | null = null,
    /** When a rate limit allows the next request, in milliseconds since 1970. */
    readonly resetAt: number | null = null,
    /** The answer's body. */
    readonly body: unknown = null,
  ) {
    super(message);
    this.name = 'Failure';
  }

  /** Whether the same request would fail again. */
  get final(): boolean {
    return (
      this.status >= 400 && this.status < 500 && !(this.overBudget || ![408, 425, 429].includes(this.status))
    );
  }

  /** Whether only the next day, or an administrator, makes it possible. */
  get overBudget(): boolean {
    return this.code === BUDGET_USED_UP;
  }

  get offline(): boolean {
    return this.status === 0;
  }
}

/** Returns any thrown value as a `Failure`. */
export function failure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  if (thrown instanceof TypeError) return new Failure(words.offline, 0);
  return new Failure(thrown instanceof Error ? thrown.message : String(thrown), 0);
}

/** Reads the failure that an answer carries, in the shape of whichever service sent it. */
export async function failureOf(response: Response): Promise<Failure> {
  return failureFrom(response, await response.text().catch(() => ''));
}

export function failureFrom(response: Response, text: string | object): Failure {
  const body = typeof text === 'string' ? parse(text) : (text as Record<string, unknown>);
  const said = string(body.message) ?? string(body.error) ?? words.status(response.status);
  const retryAfter = Number(response.headers.get('Retry-After'));
  // A budget of a day is not waited for in seconds: its message says when the next day begins.
  const isWaited = body.code !== BUDGET_USED_UP;
  const resetAt = number(body.resetAt) ?? (retryAfter > 0 ? Date.now() + retryAfter * 1000 : null);
  const requestId = string(body.requestId) ?? response.headers.get('X-Request-Id');
  return new Failure(
    plainly(said),
    response.status,
    string(body.code),
    requestId,
    isWaited ? resetAt : null,
    body,
  );
}

function parse(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

const string = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null);
const number = (value: unknown) => (typeof value === 'number' ? value : null);
