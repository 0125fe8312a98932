import { failure } from './api/failure';

/** How long a deletion can be undone. */
export const UNDO_TIME = 8000;

type Toast = { id: number; text: string; undo: (() => void) | null };

class Toasts {
  list = $state<Toast[]>([]);
  #next = 0;
  #pending = new Map<number, () => void>();

  constructor() {
    // A page that is closed no longer offers to undo.
    addEventListener('pagehide', () => {
      for (const commit of [...this.#pending.values()]) commit();
    });
  }

  /**
   * Offers to undo a deletion, and carries it out after a while. The caller hides the thing at once, and shows it again
   * in `restore`, which is also called with the failure if the deletion fails. Use `keepalive` in the request.
   */
  undoable(text: string, commit: () => Promise<unknown>, restore: (failed?: string) => void): void {
    const id = this.#next++;
    const carryOut = () => {
      clearTimeout(timer);
      if (!this.#pending.delete(id)) return;
      this.close(id);
      commit().catch((thrown) => restore(failure(thrown).message));
    };
    const undo = () => {
      clearTimeout(timer);
      if (!this.#pending.delete(id)) return;
      this.close(id);
      restore();
    };
    const timer = setTimeout(carryOut, UNDO_TIME);
    this.#pending.set(id, carryOut);
    this.list.push({ id, text, undo });
  }

  close(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();
