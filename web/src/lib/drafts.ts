/** Texts that were typed and not sent. They survive a reload, an expired session and an upgrade. */
export const drafts = {
  get(key: string): string {
    return read(key) ?? '';
  },
  set(key: string, text: string): void {
    try {
      if (text) localStorage.setItem(`stoa.draft.${key}`, text);
      else localStorage.removeItem(`stoa.draft.${key}`);
    } catch {
      // A full or forbidden storage only costs the draft.
    }
  },
};

function read(key: string): string | null {
  try {
    return localStorage.getItem(`stoa.draft.${key}`);
  } catch {
    return null;
  }
}
