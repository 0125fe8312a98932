import type { ProjectOwner } from '$lib/api/types/supervisor';
import { session } from '$lib/session.svelte';
import { words } from '$words/projects';

/** Returns whose a project is, as the user says it. */
export function ownerName({ kind, id, name }: ProjectOwner): string {
  if (kind === 'administrators') return words.owner.administrators;
  if (kind === 'guests') return words.owner.guests;
  return id === session.user?.id ? words.owner.you : (name ?? words.owner.unknown);
}
