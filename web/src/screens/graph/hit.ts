import type { Attributes } from 'graphology-types';
import type Sigma from 'sigma';

export type Point = { x: number; y: number };

/** A node also takes what is done this close to it, in pixels. */
const SLACK = 4;

/** Returns which of some nodes is at a point of the screen, or very close to it. */
export function nodeAt<N extends Attributes, E extends Attributes>(
  point: Point,
  sigma: Sigma<N, E>,
  nodes: Iterable<string>,
): string | null {
  const at = sigma.viewportToFramedGraph(point);
  const beside = sigma.viewportToFramedGraph({ x: point.x + 1, y: point.y });
  const pixel = Math.hypot(beside.x - at.x, beside.y - at.y);
  let [found, nearest] = [null as string | null, Infinity];
  for (const id of nodes) {
    const node = sigma.getNodeDisplayData(id);
    if (!node) continue;
    const distance = Math.hypot(node.x - at.x, node.y - at.y);
    const reach = (sigma.scaleSize(node.size) + SLACK) * pixel;
    if (distance < reach && distance < nearest) [found, nearest] = [id, distance];
  }
  return found;
}
