import type { ConversationMessage } from '$lib/api/types/knowledge';

export type Source = ConversationMessage['sources'][number];

/** A question or an answer on the screen. Only the fields of the answer that is being written change. */
export class ShownMessage {
  readonly id: string;
  readonly role: ConversationMessage['role'];
  readonly createdAt: number;
  /** The documents that a question is about; none for all. */
  readonly documentIds: string[];
  /** The spaces that a question is about; none for all. The user's own id stands for their own documents. */
  readonly spaceIds: string[];
  /** Whether a question is for the model alone. */
  readonly withoutDocuments: boolean;
  content = $state('');
  status = $state<ConversationMessage['status']>('complete');
  error = $state<string | null>(null);
  sources = $state.raw<Source[]>([]);
  /** What was not read for the answer, a sentence each. */
  notices = $state.raw<string[]>([]);
  model = $state<string | null>(null);

  constructor(message: ConversationMessage) {
    this.id = message.id;
    this.role = message.role;
    this.createdAt = message.createdAt;
    this.documentIds = message.documentIds;
    this.spaceIds = message.spaceIds;
    this.withoutDocuments = message.withoutDocuments;
    this.update(message);
  }

  update(message: ConversationMessage): void {
    this.content = message.content;
    this.status = message.status;
    this.error = message.error ?? null;
    this.sources = message.sources;
    this.notices = message.notices;
    this.model = message.model ?? null;
  }
}

/** What a screen is told of its conversation. */
export type Happens = {
  /** The server has made the conversation, and has accepted its first question; or it begins with a file. */
  oncreated: (id: string, isAsked: boolean) => void;
  /** A question was accepted, or an answer has ended: titles and times have changed. */
  onchanged: () => void;
  /** An answer has ended while the page followed it. */
  onanswered: (answer: ShownMessage) => void;
};

/** Returns the messages of an answer of the server, with those that are on the screen already in their place. */
export function merged(shown: ShownMessage[], messages: ConversationMessage[]): ShownMessage[] {
  const known = new Map(shown.map((message) => [message.id, message]));
  return messages.map((message) => {
    const before = known.get(message.id);
    before?.update(message);
    return before ?? new ShownMessage(message);
  });
}

/** Returns the messages once the server has accepted a question: without what it replaces, with its answer at the end. */
export function begun(
  shown: ShownMessage[],
  replaced: string | undefined,
  user: ConversationMessage,
  assistant: ConversationMessage,
): ShownMessage[] {
  const cut = replaced ? shown.findIndex(({ id }) => id === replaced) : -1;
  const kept = cut >= 0 ? shown.slice(0, cut) : shown;
  const before = kept.filter(({ id }) => id !== user.id && id !== assistant.id);
  // While it is written, the text comes from the events.
  const content = shown.find(({ id }) => id === assistant.id)?.content ?? '';
  return [...before, ...merged(shown, [user, { ...assistant, content }])];
}
