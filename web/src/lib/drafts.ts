import { session } from './session.svelte';

/** Texts that were typed and not sent. They survive a reload, an expired session and an upgrade. */
export const drafts = {
  get(key: string): string {
    return read(key) ?? '';
  },
  set(key: string, text: string): void {
    try {
      if (text) localStorage.setItem(name(key), text);
      else localStorage.removeItem(name(key));
    } catch {
      // A full or forbidden storage only costs the draft.
    }
  },
};

function read(key: string): string | null {
  try {
    return localStorage.getItem(name(key));
  } catch {
    return null;
  }
}

/** The next user of the browser must not find the drafts of the one before. */
function name(key: string): string {
  return `stoa.draft.${session.user?.id ?? ''}.${key}`;
}
