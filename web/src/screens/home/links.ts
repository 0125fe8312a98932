import { gateway } from '$lib/address';

/**
 * Returns the address that an entry's `url` leads to: a web address, or a path of this installation, which may be below
 * a prefix. Anything else is null.
 */
export function destination(url: string): string | null {
  const path = url.startsWith('/') && !url.startsWith('//');
  try {
    const address = new URL(path ? url.slice(1) : url, path ? gateway : undefined);
    if (!/^https?:$/.test(address.protocol)) return null;
    return path && address.origin !== gateway.origin ? null : address.href;
  } catch {
    return null;
  }
}

/** Returns whether an address opens in this tab: a screen of this page. */
export function isScreen(address: string): boolean {
  return address.startsWith(new URL('./#', document.baseURI).href);
}
