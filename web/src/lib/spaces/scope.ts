/*
 * Where to look: in everything that the user may see, or in some places. In addresses the user's own documents are `mine`,
 * so that a link means the same to a colleague; in requests they are the user's id.
 */
export const MINE = 'mine';

/** Reads places from the parameter `in` of an address; none means everything. */
export function readScope(text: string | null): string[] {
  const places = (text ?? '').split(',').map((place) => place.trim());
  return [...new Set(places.filter(Boolean))];
}

/** Writes places as the parameter `in`; null for everything. */
export function writeScope(places: string[]): string | null {
  return places.length > 0 ? places.join(',') : null;
}

/** Adds a place, or takes it out. */
export function toggled(places: string[], place: string): string[] {
  return places.includes(place) ? places.filter((other) => other !== place) : [...places, place];
}

/** Returns the ids for a request. */
export function requested(places: string[], userId: string | undefined): string[] {
  return places.map((place) => (place === MINE ? (userId ?? MINE) : place));
}

/** Returns the places that a message of the server names. */
export function placesOf(ids: string[], userId: string | undefined): string[] {
  return ids.map((id) => (id === userId ? MINE : id));
}
