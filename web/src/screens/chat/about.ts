/** What a question is about: some documents, or some spaces; everything if both are empty; or nothing but the question. */
export type About = {
  documentIds: string[];
  /** The user's own id stands for their own documents. */
  spaceIds: string[];
  /** The model alone answers. */
  withoutDocuments: boolean;
};

export const EVERYTHING: About = { documentIds: [], spaceIds: [], withoutDocuments: false };

/** Returns what of it is sent with a question: the service takes no empty lists. */
export function namedBy({ documentIds, spaceIds, withoutDocuments }: About): Partial<About> {
  if (withoutDocuments) return { withoutDocuments };
  return {
    ...(documentIds.length > 0 && { documentIds }),
    ...(spaceIds.length > 0 && { spaceIds }),
  };
}

/** How a question is to be answered. */
export type Style = { agentType?: string; llmConfig?: { provider: string; model: string } };
/** What a question replaces. */
export type Replaced = { editOf?: string; retryOf?: string };
