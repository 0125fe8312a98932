const seen = new Set<string>();

/** Returns whether this is asked for the first time since the page was loaded. */
export function firstTime(what: string): boolean {
  if (seen.has(what)) return false;
  seen.add(what);
  return true;
}
