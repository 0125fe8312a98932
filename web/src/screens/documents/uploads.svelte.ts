import { untrack } from 'svelte';
import { failure, failureFrom, Failure } from '$lib/api/failure';
import { fetchOk } from '$lib/api/client';
import { capabilities } from '$lib/capabilities.svelte';
import { documentsIn } from '$lib/documents.svelte';
import { session } from '$lib/session.svelte';
import { chooseFiles, type Found } from './dropped';
import { type Answer, sendFile } from './send';

export type UploadState = 'waiting' | 'sending' | 'paused' | 'duplicate' | 'replaced' | 'failed';

/** A file on its way to the server. Once the server has it, it is a document in the list. */
export class Upload {
  state = $state<UploadState>('waiting');
  sent = $state(0);
  /** When the last byte was sent, to tell of a connection that hangs. */
  movedAt = $state(0);
  error = $state.raw<Failure | null>(null);
  /** When a file is sent again after a lost connection. */
  againAt = $state(0);
  documentId = $state<string | null>(null);
  /** The version that the file becomes, if it takes the place of another. */
  version = $state(1);
  attempts = 0;
  stop: () => void = () => {};

  constructor(
    readonly id: number,
    readonly file: File,
    readonly folder: string,
    /** Empty for the user's own documents. */
    readonly spaceId: string,
  ) {}
}

/** Those that are in the list until the user takes them out. */
const ENDED: UploadState[] = ['failed', 'duplicate', 'replaced'];
/** More connections would leave none for the rest of the page. */
const AT_ONCE = 3;
const MOST_ATTEMPTS = 6;
const LOST = 'stoa.uploads';

/** The files that are being sent: three at a time, whatever screen is open. */
class Uploads {
  list = $state.raw<Upload[]>([]);
  /** The names of all files that were added since the page was opened. */
  names = $state.raw<string[]>([]);
  /** How many were sent since the list was last empty. */
  done = $state(0);
  /** Names of files that were on their way when the page was closed. */
  lost = $state.raw<string[]>(takeLost());
  #next = 0;
  readonly pending = $derived(
    this.list.filter(({ state }) => ['waiting', 'sending', 'paused'].includes(state)),
  );

  constructor() {
    addEventListener('online', () => this.resume());
    addEventListener('beforeunload', (event) => this.pending.length > 0 && event.preventDefault());
    $effect.root(() => {
      let owner = session.user?.id;
      $effect(() => {
        if (session.state !== 'in') return;
        // What one user has chosen is not sent as another.
        if (session.user?.id !== owner) untrack(() => this.cancelAll());
        owner = session.user?.id;
        untrack(() => this.resume());
      });
    });
  }

  async choose({ spaceId = '', ...what }: { folder?: boolean; spaceId?: string } = {}): Promise<void> {
    this.add(await chooseFiles(what), spaceId);
  }

  add(found: Found[], spaceId = ''): void {
    if (found.length === 0) return;
    if (this.pending.length === 0) this.clear();
    this.lost = [];
    const added = found.map(({ file, folder }) => new Upload(this.#next++, file, folder, spaceId));
    this.list = [...this.list, ...added];
    this.names = [...this.names, ...found.map(({ file }) => file.name)];
    this.#pump();
  }

  /** Does not send a file, or removes it from the list. */
  cancel(upload: Upload): void {
    upload.stop();
    this.#remove(upload);
  }

  cancelAll(): void {
    for (const upload of this.pending) upload.stop();
    this.list = this.list.filter(({ state }) => ENDED.includes(state));
    this.#keepNames();
  }

  retry(upload: Upload): void {
    upload.attempts = 0;
    upload.state = 'waiting';
    this.#pump();
  }

  clear(): void {
    this.list = this.pending;
    this.done = 0;
  }

  /** Sends at once what waits for the connection, or for a new session. */
  resume(): void {
    for (const upload of this.list) if (upload.state === 'paused') upload.state = 'waiting';
    this.#pump();
  }

  #pump(): void {
    this.#keepNames();
    if (session.state !== 'in') return;
    const free = AT_ONCE - this.list.filter(({ state }) => state === 'sending').length;
    const next = this.list.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, free));
    for (const upload of next) void this.#send(upload);
  }

  async #send(upload: Upload): Promise<void> {
    if (capabilities.isTooLarge(upload.file.size)) {
      Object.assign(upload, { state: 'failed', error: new Failure('', 413, 'PAYLOAD_TOO_LARGE') });
      return this.#pump();
    }
    Object.assign(upload, {
      state: 'sending',
      sent: 0,
      movedAt: Date.now(),
      error: null,
      attempts: upload.attempts + 1,
    });
    const sending = sendFile(upload, (sent) => Object.assign(upload, { sent, movedAt: Date.now() }));
    upload.stop = sending.stop;
    const answer = await sending.answer;
    if (answer.kind === 'answered') this.#answered(upload, answer);
    else if (answer.kind === 'failed') this.#pauseOrFail(upload, failure(answer.error));
    this.#pump();
  }

  #answered(upload: Upload, { response, body }: Extract<Answer, { kind: 'answered' }>): void {
    if (!response.ok) return this.#refused(upload, failureFrom(response, body));
    const { documentId, duplicateOf, version } = JSON.parse(body);
    Object.assign(upload, { documentId, version });
    if (duplicateOf) {
      upload.state = 'duplicate';
      return;
    }
    if (version > 1) upload.state = 'replaced';
    else {
      this.done++;
      this.#remove(upload);
    }
    void announce(documentId, upload.spaceId);
  }

  #refused(upload: Upload, error: Failure): void {
    if (error.status === 401) {
      upload.state = 'waiting';
      session.end();
    } else if ([408, 425, 429, 502, 503, 504].includes(error.status)) this.#pauseOrFail(upload, error);
    else Object.assign(upload, { state: 'failed', error });
  }

  /** Tries again later: sending a file twice makes one document. */
  #pauseOrFail(upload: Upload, error: Failure): void {
    if (upload.attempts >= MOST_ATTEMPTS) {
      Object.assign(upload, { state: 'failed', error });
      return;
    }
    const pause = Math.max((error.resetAt ?? 0) - Date.now(), 1000 * 2 ** upload.attempts);
    Object.assign(upload, { state: 'paused', error, againAt: Date.now() + pause });
    const timer = setTimeout(() => {
      if (upload.state !== 'paused') return;
      upload.state = 'waiting';
      this.#pump();
    }, pause);
    upload.stop = () => clearTimeout(timer);
  }

  #remove(upload: Upload): void {
    this.list = this.list.filter((other) => other !== upload);
    this.#keepNames();
  }

  /** Keeps the names of what is not sent, to say so if the page is closed: a page cannot keep the files. */
  #keepNames(): void {
    try {
      const names = this.pending.map(({ file }) => file.name);
      if (names.length) sessionStorage.setItem(LOST, JSON.stringify(names.slice(0, 1000)));
      else sessionStorage.removeItem(LOST);
    } catch {
      // Without a storage, nothing is said.
    }
  }
}

/** Shows a new document while the stream of changes is interrupted. */
async function announce(id: string, spaceId: string): Promise<void> {
  const documents = documentsIn(spaceId);
  if (!documents.trouble) return;
  const response = await fetchOk('core', `/api/documents/${encodeURIComponent(id)}`).catch(() => null);
  if (response) documents.tell({ type: 'document', document: await response.json() });
}

function takeLost(): string[] {
  try {
    const names = JSON.parse(sessionStorage.getItem(LOST) ?? '[]');
    sessionStorage.removeItem(LOST);
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}

export const uploads = new Uploads();
