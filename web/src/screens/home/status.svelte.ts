import { ok, portal } from '$lib/api/client';
import type { Status } from '$lib/api/types/portal';

/** How the services are, asked again every 30 s while Home is visible. */
class ServicesStatus {
  now = $state.raw<Status | null>(null);
  error = $state.raw<unknown>(null);

  get loaded(): boolean {
    return this.now !== null;
  }

  async load(): Promise<void> {
    try {
      this.now = await ok(portal.GET('/api/portal/status'));
      this.error = null;
    } catch (thrown) {
      this.error = thrown;
    }
  }

  /** Returns a function that ends it. */
  watch(): () => void {
    const look = () => document.visibilityState === 'visible' && void this.load();
    look();
    const timer = setInterval(look, 30_000);
    document.addEventListener('visibilitychange', look);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }
}

export const status = new ServicesStatus();
