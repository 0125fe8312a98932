import { ok } from '$lib/api/client';

/** Returns the cursor of the page that follows, from the `Link` header of a list. */
export function cursorAfter(response: Response): string | null {
  const link = /<\?([^>]*)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '');
  return link ? new URLSearchParams(link[1]).get('after') : null;
}

/** Reads a list to its end. `read` gets the cursor of each page. */
export async function allPages<T>(
  read: (after: string | undefined) => Promise<{ data?: T[]; error?: unknown; response: Response }>,
): Promise<T[]> {
  const rows: T[] = [];
  let after: string | undefined;
  do {
    const answer = read(after);
    rows.push(...(await ok(answer)));
    after = cursorAfter((await answer).response) ?? undefined;
  } while (after);
  return rows;
}
