import { href, router } from '$lib/router.svelte';
import type { AnyKind } from './kinds';

/** What Home shows: `?show=update:ID` an entry, `?edit=update:ID` its form, `?list=task` all of a kind. */

const separator = ':';

export function mark(kind: AnyKind, id: string): string {
  return kind + separator + id;
}

/** Reads `update:ID`. An id may have colons, as the name of a team. */
export function parse(text: string | null): { kind: AnyKind; id: string } | null {
  const at = text?.indexOf(separator) ?? -1;
  const kind = text?.slice(0, at) ?? '';
  if (at < 0 || !['update', 'goal', 'task', 'tool', 'page', 'team'].includes(kind)) return null;
  return { kind: kind as AnyKind, id: text!.slice(at + 1) };
}

/** Returns the present address with other parameters; null takes one away. */
export function withQuery(changes: Record<string, string | null>): string {
  const query = new URLSearchParams(router.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  return href('/', query);
}

export const showLink = (kind: AnyKind, id: string) => withQuery({ show: mark(kind, id), edit: null });
