import { ok, supervisor } from '$lib/api/client';
import type { WaitingApproval } from '$lib/api/types/supervisor';

/** What waits for a decision, over all projects that are seen. The badge in the sidebar counts what may be decided. */
class Inbox {
  /** With the texts, so only read while the inbox is open. */
  approvals = $state.raw<WaitingApproval[]>([]);
  count = $state(0);
  loaded = $state(false);
  error = $state.raw<unknown>(null);
  #readers = 0;

  /** Reads the number of approvals, and the approvals themselves if they are shown. */
  async refresh(): Promise<void> {
    const limit = this.#readers > 0 ? 100 : 0;
    try {
      const { approvals, decidable } = await ok(
        supervisor.GET('/api/approvals', { params: { query: { limit } } }),
      );
      this.count = decidable;
      this.error = null;
      if (limit === 0) return;
      this.approvals = approvals;
      this.loaded = true;
    } catch (thrown) {
      this.error = thrown;
      throw thrown;
    }
  }

  /** Keeps the approvals themselves up to date until the returned function is called. */
  read(): () => void {
    this.#readers++;
    void this.refresh().catch(() => null);
    return () => this.#readers--;
  }

  /** Asks every 20 s while the page is visible. Returns a function that ends it. */
  watch(): () => void {
    const look = () => document.visibilityState === 'visible' && void this.refresh().catch(() => null);
    look();
    const timer = setInterval(look, 20_000);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }
}

export const inbox = new Inbox();
