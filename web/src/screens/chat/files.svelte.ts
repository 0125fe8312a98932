import { fetchOk, knowledge, ok } from '$lib/api/client';
import { type Failure, failure, failureFrom } from '$lib/api/failure';
import { sendForm } from '$lib/api/send-form';
import type { Attached } from '$lib/api/types/knowledge';
import type { Document } from '$lib/documents.svelte';

/** Time between two looks at files that are being read, in milliseconds. */
const PAUSE = 1000;
/** Time to the next look if one has failed. */
const LONG_PAUSE = 4000;

const PICTURE = /\.(png|jpe?g|gif|webp)$/i;

/** A file of a conversation, from the moment it is chosen. */
export class AttachedFile {
  readonly name: string;
  /** How many bytes are sent. */
  sent = $state(0);
  /** As the server has it. */
  document = $state.raw<Document | null>(null);
  /** Why it could not be sent, or not be removed. */
  error = $state.raw<Failure | null>(null);
  /** The address of the picture in this page, as long as it shows one. */
  picture = $state<string | null>(null);
  stop = () => {};

  constructor(
    readonly key: string,
    /** None if it was attached before the page was opened. */
    readonly file: File | null,
    document: Document | null,
  ) {
    this.document = document;
    this.name = file?.name ?? document?.filename ?? '';
    if (file && this.isPicture) this.picture = URL.createObjectURL(file);
  }

  get isPicture(): boolean {
    return PICTURE.test(this.name);
  }

  get state(): 'sending' | 'reading' | 'ready' | 'failed' {
    if (this.error && !this.document) return 'failed';
    if (!this.document) return 'sending';
    // Without text in it, a picture can still be looked at.
    if (this.isPicture && this.document.status === 'error') return 'ready';
    return ({ processing: 'reading', indexed: 'ready', error: 'failed' } as const)[this.document.status];
  }

  /** Why it cannot be used. */
  get reason(): string {
    const stored = this.document?.metadata.error;
    const said = this.error?.message ?? (typeof stored === 'string' ? stored : '');
    return said.charAt(0).toUpperCase() + said.slice(1);
  }
}

/** The files of a conversation: those that the server has, and those on their way to it. */
export class ConversationFiles {
  list = $state.raw<AttachedFile[]>([]);
  /** Whether a question has to wait for some. */
  readonly pending = $derived(this.list.filter(({ state }) => state === 'sending' || state === 'reading'));
  readonly failed = $derived(this.list.filter(({ state }) => state === 'failed'));

  #conversation: () => string | null;
  #begin: () => Promise<string>;
  #next = 0;
  /** Removed here, while an answer on its way may still have them. */
  #removed = new Set<string>();
  #turn: Promise<unknown> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  /** `begin` makes the conversation, if there is none yet. */
  constructor(conversation: () => string | null, begin: () => Promise<string>) {
    this.#conversation = conversation;
    this.#begin = begin;
  }

  /** Reads which files the server has, and how far it is with them. */
  async load(): Promise<void> {
    const id = this.#conversation();
    if (!id || this.#closed) return;
    clearTimeout(this.#timer);
    let pause = PAUSE;
    const before = new Set(this.list.map(({ document }) => document?.id));
    try {
      const { files } = await ok(
        knowledge.GET('/api/conversations/{id}/files', { params: { path: { id } } }),
      );
      this.#take(files, before);
    } catch {
      // What is shown stays; the next look may succeed.
      pause = LONG_PAUSE;
    }
    const isRead = this.list.some(({ state }) => state === 'reading');
    if (isRead && !this.#closed) this.#timer = setTimeout(() => void this.load(), pause);
  }

  /** Takes what the server has. What it has lost is removed, if it was there `before` the server was asked. */
  #take(documents: Document[], before: Set<string | undefined>): void {
    const known = new Map(this.list.map((file) => [file.document?.id, file]));
    // The server lists the newest first; here they are in the order of attaching.
    for (const document of documents.toReversed()) {
      const file = known.get(document.id);
      if (file) file.document = document;
      else if (!this.#removed.has(document.id))
        this.list = [...this.list, new AttachedFile(document.id, null, document)];
    }
    const ids = new Set(documents.map(({ id }) => id));
    this.list = this.list.filter(
      ({ document }) => !document || ids.has(document.id) || !before.has(document.id),
    );
  }

  add(files: File[]): void {
    const added = files.map((file) => new AttachedFile(`new-${this.#next++}`, file, null));
    this.list = [...this.list, ...added];
    for (const file of added) this.#send(file);
  }

  retry(file: AttachedFile): void {
    file.error = null;
    this.#send(file);
  }

  /** Sends a file as soon as those before it are sent. */
  #send(file: AttachedFile): void {
    this.#turn = this.#turn.then(async () => {
      if (!this.list.includes(file) || this.#closed) return;
      try {
        file.document = await this.#sent(file);
        void this.load();
      } catch (thrown) {
        file.error = failure(thrown);
      }
    });
  }

  async #sent(file: AttachedFile): Promise<Document | null> {
    const form = new FormData();
    form.set('file', file.file!, file.name);
    const id = encodeURIComponent(await this.#begin());
    const path = `/api/conversations/${id}/files`;
    const sending = sendForm(path, form, file.file!.size, (sent) => (file.sent = sent));
    file.stop = sending.stop;
    const answer = await sending.answer;
    if (answer.kind === 'stopped') return null;
    if (answer.kind === 'failed') throw failure(answer.error);
    if (!answer.response.ok) throw failureFrom(answer.response, answer.body);
    const { file: document }: Attached = JSON.parse(answer.body);
    // The same file twice is one document.
    this.list = this.list.filter((other) => other === file || other.document?.id !== document.id);
    return document;
  }

  async remove(file: AttachedFile): Promise<void> {
    const before = this.list;
    this.list = before.filter((other) => other !== file);
    file.stop();
    const conversation = this.#conversation();
    if (!file.document || !conversation) return forget(file);
    const { id } = file.document;
    this.#removed.add(id);
    try {
      const params = { path: { id: conversation, file: id } };
      await ok(knowledge.DELETE('/api/conversations/{id}/files/{file}', { params }));
      forget(file);
    } catch (thrown) {
      const reason = failure(thrown);
      if (reason.status === 404) return forget(file);
      this.#removed.delete(id);
      file.error = reason;
      this.list = before.filter((other) => other === file || this.list.includes(other));
    }
  }

  /** Shows nothing more. What is being sent goes on. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const file of this.list) forget(file);
  }
}

function forget(file: AttachedFile): void {
  if (file.picture) URL.revokeObjectURL(file.picture);
  file.picture = null;
}

/** Reads a picture that was attached before the page was opened. */
export async function loadPicture(file: AttachedFile): Promise<void> {
  if (!file.isPicture || file.picture || !file.document) return;
  try {
    const path = `/api/documents/${encodeURIComponent(file.document.id)}/content`;
    const bytes = await (await fetchOk('core', path)).blob();
    file.picture ??= URL.createObjectURL(bytes);
  } catch {
    // Its name is shown in its place.
  }
}

/** Returns the files of a paste or a drop. A paste of text may bring a picture of it along, which is not meant. */
export function filesOf(transfer: DataTransfer | null): File[] {
  if (!transfer || transfer.types.includes('text/plain')) return [];
  return [...transfer.files];
}
