import { href, router } from '$lib/router.svelte';

/** Returns an address within a project. The phase that was chosen stays chosen in all its views. */
export function inProject(
  id: string,
  view: string[] = [],
  query: Record<string, string | null | undefined> = {},
): string {
  return href(['projects', id, ...view], { phase: router.query.get('phase'), ...query });
}
