/** Returns until when a token is valid, in milliseconds since 1970; null if it does not say. */
export function expiryOf(token: string): number | null {
  try {
    const claims = token.split('.')[1]!.replace(/-/g, '+').replace(/_/g, '/');
    const { exp } = JSON.parse(atob(claims));
    return typeof exp === 'number' ? exp * 1000 : null;
  } catch {
    return null;
  }
}
