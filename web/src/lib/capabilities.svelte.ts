import { untrack } from 'svelte';
import { knowledge, ok } from './api/client';
import type { Capabilities } from './api/types/knowledge';
import { session } from './session.svelte';

export type FileGroup = Capabilities['unreadable'][number]['files'];

/** Files that only some servers can read, by the ends of their names. */
const ENDINGS: Record<FileGroup, RegExp> = {
  scans: /\.(png|jpe?g|webp|tiff?|pdf)$/i,
  oldOffice: /\.(doc|xls|ppt)$/i,
};

/** What can be added to this server. Nothing is known until it has answered. */
class ServerCapabilities {
  known = $state.raw<Capabilities | null>(null);
  #started = false;

  /** Reads it for each user who signs in. May be called often. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    $effect.root(() => {
      $effect(() => {
        if (session.state === 'in' && session.user?.id) untrack(() => void this.#load());
      });
    });
  }

  async #load(): Promise<void> {
    this.known = await ok(knowledge.GET('/api/capabilities', {})).catch(() => null);
  }

  /** Returns whether a file is larger than the server takes. */
  isTooLarge(bytes: number): boolean {
    return this.known !== null && bytes > this.known.maxUploadBytes;
  }

  /** Returns the groups of files that these names are of, and that cannot be read, with what an administrator installs. */
  unreadable(names: string[]): { files: FileGroup; packages: string[] }[] {
    const groups = this.known?.unreadable ?? [];
    return groups
      .filter(({ files }) => names.some((name) => ENDINGS[files].test(name)))
      .map(({ files, packages = [] }) => ({ files, packages }));
  }
}

export const capabilities = new ServerCapabilities();
