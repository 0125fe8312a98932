import { ok, supervisor } from '$lib/api/client';
import { session } from '$lib/session.svelte';
import type { Approval } from '$lib/api/types/supervisor';

/** What waits for a decision, over all projects. The badge in the sidebar and the projects' inbox show the same list. */
class Inbox {
  approvals = $state.raw<Approval[]>([]);

  get count(): number {
    return this.approvals.length;
  }

  async refresh(): Promise<void> {
    const { approvals } = await ok(supervisor.GET('/api/approvals'));
    this.approvals = approvals;
  }

  /** Asks every 20 s while the page is visible. Returns a function that ends it. */
  watch(): () => void {
    const look = () =>
      document.visibilityState === 'visible' &&
      session.state === 'in' &&
      void this.refresh().catch(() => null);
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
