import iterate from 'graphology-layout-forceatlas2/iterate.js';

/** Numbers of a node and of an edge in the arrays that ForceAtlas2 takes. */
export const NODE = 10;
export const EDGE = 3;

const SETTINGS = {
  linLogMode: false,
  outboundAttractionDistribution: false,
  adjustSizes: false,
  edgeWeightInfluence: 1,
  strongGravityMode: true,
  barnesHutTheta: 1.2,
};

/** Movement of an average node in one iteration, as a part of the drawing's width, below which the layout is at rest. */
const REST = 0.0015;
const MOST_ITERATIONS = 400;
const BATCH = 5;

export type Layout = { nodes: Float32Array; edges: Float32Array };

/**
 * Arranges nodes by ForceAtlas2, batch after batch, until they rest or the iterations are used up. `onbatch` is called
 * after each batch, and returns whether to go on.
 */
export function arrange({ nodes, edges }: Layout, onbatch: (nodes: Float32Array) => boolean): number {
  const order = nodes.length / NODE;
  if (order < 2) return 0;
  const settings = {
    ...SETTINGS,
    barnesHutOptimize: order > 500,
    scalingRatio: 12,
    gravity: 0.04,
    // Few nodes swing around their places, unless they are slow.
    slowDown: order > 500 ? 1 : 4,
  };
  let calm = 0;
  for (let done = 0; done < MOST_ITERATIONS; done += BATCH) {
    const before = nodes.slice();
    for (let i = 0; i < BATCH; i++) iterate(settings, nodes, edges);
    if (!onbatch(nodes)) return done + BATCH;
    calm = movement(before, nodes) < REST * BATCH ? calm + 1 : 0;
    if (calm === 3) return done + BATCH;
  }
  return MOST_ITERATIONS;
}

/** Returns how far nodes have moved on average, as a part of the drawing's width. */
function movement(before: Float32Array, after: Float32Array): number {
  let [moved, least, most] = [0, Infinity, -Infinity];
  for (let at = 0; at < after.length; at += NODE) {
    moved += Math.hypot(after[at]! - before[at]!, after[at + 1]! - before[at + 1]!);
    least = Math.min(least, after[at]!);
    most = Math.max(most, after[at]!);
  }
  return moved / (after.length / NODE) / Math.max(1, most - least);
}

/** Returns the x and y of each node, one after the other. */
export function positionsOf(nodes: Float32Array): Float32Array {
  const positions = new Float32Array((nodes.length / NODE) * 2);
  for (let at = 0, to = 0; at < nodes.length; at += NODE) {
    positions[to++] = nodes[at]!;
    positions[to++] = nodes[at + 1]!;
  }
  return positions;
}
