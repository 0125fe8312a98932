import { address } from './address';
import { failure, failureOf } from './api/failure';
import type { User } from './api/types/knowledge';
import { sha256Hex } from './sha256';

/*
 * Who is signed in. The session itself is a cookie that no script can read; from it the page obtains a gateway token,
 * which it keeps in memory and renews.
 */
class Session {
  /** `ended` means that the session was valid and no longer is: the screen stays, and a dialog asks to sign in again. */
  state = $state<'starting' | 'out' | 'in' | 'ended' | 'unreachable'>('starting');
  user = $state.raw<User | null>(null);

  #token: { value: string; renewAt: number } | null = null;
  #renewal: Promise<string | null> | null = null;
  #waiting: ((back: boolean) => void)[] = [];

  get admin(): boolean {
    return this.user?.isAdmin ?? false;
  }

  /** Finds out whether the browser already has a session, or has one again because of another tab. */
  async start(): Promise<void> {
    const response = await fetch(address('core', '/api/auth/session')).catch(() => null);
    const user = response?.ok ? (await response.json()).user : null;
    if (user) this.#enter(user);
    else if (this.state !== 'ended') this.state = response?.ok ? 'out' : 'unreachable';
  }

  /** Signs a user in by name and password. Throws a `Failure`. */
  async signIn(username: string, password: string): Promise<void> {
    const digest = await sha256Hex(username + password);
    await this.#open('/api/auth/login', JSON.stringify({ username, password: digest }));
  }

  /** Opens a session for the person whom the single sign-on has just identified. Throws a `Failure`. */
  async signInBySso(token: string): Promise<void> {
    await this.#open('/api/auth/sso', undefined, token);
  }

  /** Changes the password, which ends all sessions, and opens a new one. Throws a `Failure`. */
  async changePassword(currentPassword: string, newPassword: string): Promise<void> {
    const body = JSON.stringify({ currentPassword, newPassword });
    const response = await fetch(address('core', '/api/auth/password'), { method: 'POST', body });
    if (!response.ok) throw await failureOf(response);
    await this.signIn(this.user!.username, newPassword);
  }

  async signOut(): Promise<void> {
    await fetch(address('core', '/api/auth/logout'), { method: 'POST' }).catch(() => null);
    // Without a session of single sign-on, there is none to end.
    const me = await fetch(address('kv', '/api/portal/me')).catch(() => null);
    const signedOn = me?.ok && (await me.json()).sso?.signedIn;
    if (signedOn) await fetch(address('kv', '/api/portal/sso/logout'), { method: 'POST' }).catch(() => null);
    this.#token = null;
    this.user = null;
    this.state = 'out';
    this.#settle(false);
  }

  /** Notes that the knowledge service no longer knows the session. */
  end(): void {
    this.#token = null;
    if (this.state === 'in') this.state = 'ended';
  }

  /** Waits while an ended session is being opened again. Returns whether the same user is back. */
  returned(signal?: AbortSignal): Promise<boolean> {
    if (this.state !== 'ended') return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      signal?.addEventListener('abort', () => resolve(false), { once: true });
    });
  }

  /** Returns the gateway token, a new one if it is about to expire. */
  async token({ renew = false } = {}): Promise<string | null> {
    if (this.state === 'ended') return null;
    if (!renew && this.#token && Date.now() < this.#token.renewAt) return this.#token.value;
    // Requests that need a token at the same time share one renewal.
    this.#renewal ??= this.#renew().finally(() => (this.#renewal = null));
    return this.#renewal;
  }

  async #renew(): Promise<string | null> {
    const response = await fetch(address('core', '/api/auth/token'), { method: 'POST' });
    if (response.status === 401) this.end();
    if (!response.ok) return null;
    const { token, expiresAt } = await response.json();
    this.#token = { value: token, renewAt: Date.now() + (expiresAt - Date.now()) * 0.8 };
    return token;
  }

  async #open(path: string, body?: string, token?: string): Promise<void> {
    let response;
    try {
      const headers = token ? { Authorization: `Bearer ${token}` } : undefined;
      response = await fetch(address('core', path), { method: 'POST', body, headers });
    } catch (thrown) {
      throw failure(thrown);
    }
    if (!response.ok) throw await failureOf(response);
    this.#enter((await response.json()).user);
  }

  #enter(user: User): void {
    const same = this.user?.id === user.id;
    this.#token = null;
    this.user = user;
    this.state = 'in';
    this.#settle(same);
  }

  #settle(back: boolean): void {
    for (const resolve of this.#waiting.splice(0)) resolve(back);
  }
}

export const session = new Session();
