/** Notes that a part of the page could not be loaded, as after an upgrade of the server, when its old files are gone. */
class Upgrade {
  missing = $state(false);

  constructor() {
    addEventListener('vite:preloadError', () => (this.missing = navigator.onLine));
  }
}

export const upgrade = new Upgrade();
