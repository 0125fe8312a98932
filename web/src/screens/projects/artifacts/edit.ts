import { ok, supervisor } from '$lib/api/client';
import type { Artifact } from '$lib/api/types/supervisor';
import { drafts } from '$lib/drafts';

/** An edit that was not saved yet: its text, and the version that it was begun on. */
export type Draft = { base: string; text: string };

type Place = { projectId: string; phase: string; agent: string };

/** Returns the key under which the edit of an artifact is kept until it is saved. */
export const draftKey = ({ projectId, phase, agent }: Place) => `artifact.${projectId}.${phase}.${agent}`;

export function readDraft(key: string): Draft | null {
  try {
    return JSON.parse(drafts.get(key)) as Draft;
  } catch {
    return null;
  }
}

/** Keeps an edit; without one, forgets it. */
export function keepDraft(key: string, draft: Draft | null): void {
  drafts.set(key, draft ? JSON.stringify(draft) : '');
}

/** Saves a text as the version after this one, which must be the newest. */
export async function saveEdit({ id, project_id }: Artifact, content: string): Promise<Artifact> {
  const path = { id: project_id };
  return ok(supervisor.POST('/api/artifacts/{id}', { params: { path }, body: { artifactId: id, content } }));
}

/** Returns why a text cannot take the place of a JSON artifact; null if it can. */
export function jsonFault(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}
