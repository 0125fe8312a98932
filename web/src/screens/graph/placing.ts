import type { Content } from './content';

type Point = { x: number; y: number };

/**
 * Returns where new nodes begin: beside a neighbour that is drawn already, else in the part of the circle that their
 * community has. Equal graphs begin alike, and so look alike after they were arranged.
 */
export function placed(
  { nodes, edges }: Content,
  drawn: (id: string) => Partial<Point> | null,
): Map<string, Point> {
  const beside = new Map<string, Point>();
  for (const { source, target } of edges.values()) {
    for (const [id, other] of [
      [source, target],
      [target, source],
    ] as const) {
      const at = beside.has(id) ? null : drawn(other);
      if (at?.x !== undefined && at.y !== undefined && !drawn(id)) beside.set(id, { x: at.x, y: at.y });
    }
  }
  const places = new Map<string, Point>();
  // About the size of the arranged graph: the way to it is shorter then.
  const radius = 28 * Math.sqrt(nodes.size);
  for (const { id, community } of nodes.values()) {
    const [first, second] = scattered(id);
    const near = beside.get(id);
    const angle = (community ?? 0) * 2.399963 + first;
    const distance = radius * (0.3 + 0.7 * second);
    places.set(
      id,
      near
        ? { x: near.x + 20 * (first - 0.5), y: near.y + 20 * (second - 0.5) }
        : { x: distance * Math.cos(angle), y: distance * Math.sin(angle) },
    );
  }
  return places;
}

/** Returns two numbers between 0 and 1 that depend on a text alone. */
function scattered(text: string): [number, number] {
  let hash = 2166136261;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  return [((hash >>> 16) & 0xffff) / 0xffff, (hash & 0xffff) / 0xffff];
}
