/*
 * The address after the `#`: a path and a query, `#/documents?status=error`. Everything that a screen shows is in it,
 * so that it can be sent to a colleague, and Back returns to it, scroll positions included.
 */
class Router {
  path = $state('/');
  query = $state.raw(new URLSearchParams());
  /** Names the entry in the browser's history. */
  entry = $state('');

  /** The segments of the path: `['projects', id]`. */
  get parts(): string[] {
    return this.path.split('/').filter(Boolean).map(decodeURIComponent);
  }

  start(): void {
    history.scrollRestoration = 'manual';
    addEventListener('popstate', () => this.#read());
    addEventListener('hashchange', () => this.#read());
    this.#read();
  }

  /** Opens an address made by `href`. With `replace`, Back does not return to the present one. */
  go(address: string, { replace = false } = {}): void {
    if (address === location.hash) return;
    if (replace) history.replaceState(history.state, '', address);
    else history.pushState(null, '', address);
    this.#read();
  }

  /** Changes parameters of the query; null removes one. Replaces the entry: typing in a filter is no step. */
  setQuery(changes: Record<string, string | null>, { replace = true } = {}): void {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === '') query.delete(name);
      else query.set(name, value);
    }
    this.go(href(this.path, query), { replace });
  }

  #read(): void {
    if (!history.state?.entry)
      history.replaceState({ entry: crypto.getRandomValues(new Uint32Array(2)).join('') }, '');
    const [path = '/', query = ''] = location.hash.replace(/^#/, '').split(/\?(.*)/s);
    this.entry = history.state.entry;
    this.path = path || '/';
    this.query = new URLSearchParams(query);
  }
}

export const router = new Router();

/** Returns the address of a path and a query within the page: `href(['documents', id], { page: '3' })`. */
export function href(
  path: string | string[],
  query: URLSearchParams | Record<string, string | null | undefined> = {},
): string {
  const segments = typeof path === 'string' ? path : '/' + path.map(encodeURIComponent).join('/');
  const parameters = query instanceof URLSearchParams ? query : new URLSearchParams();
  if (!(query instanceof URLSearchParams)) {
    for (const [name, value] of Object.entries(query)) if (value) parameters.set(name, value);
  }
  const text = parameters.toString();
  return `#${segments}${text ? `?${text}` : ''}`;
}

const positions = new Map<string, number>();
const attached = new WeakMap<HTMLElement, string>();

/** Keeps the scroll position of an element for each entry of the history: `<main {@attach keepScroll('main')}>`. */
export function keepScroll(name: string) {
  return (element: HTMLElement) => {
    const key = `${router.entry} ${name}`;
    // A new entry that leaves the element in the page, such as an opened pane beside it, leaves its position, too.
    const stays = attached.get(element) === name;
    attached.set(element, name);
    const wanted = positions.get(key) ?? (stays ? element.scrollTop : 0);
    // Noted even if it is never scrolled: Back may return to this entry.
    positions.set(key, wanted);
    let restoring = wanted > 0;
    element.scrollTop = wanted;
    // The content may arrive later than the element: try again as it grows, until it is there or the user scrolls.
    const growth = new ResizeObserver(() => {
      if (!restoring) return;
      element.scrollTop = wanted;
      if (Math.abs(element.scrollTop - wanted) < 2) restoring = false;
    });
    for (const child of element.children) growth.observe(child);
    const giveUp = setTimeout(() => (restoring = false), 3000);
    const stop = () => (restoring = false);
    const note = () => !restoring && positions.set(key, element.scrollTop);
    element.addEventListener('scroll', note, { passive: true });
    element.addEventListener('wheel', stop, { passive: true });
    element.addEventListener('touchstart', stop, { passive: true });
    return () => {
      clearTimeout(giveUp);
      growth.disconnect();
      element.removeEventListener('scroll', note);
      element.removeEventListener('wheel', stop);
      element.removeEventListener('touchstart', stop);
    };
  };
}
