/* The graph that the drawing library draws, and its places as the layout takes and gives them. */
import Graph from 'graphology';
import { EDGE, type Layout, NODE } from './layout';

export type NodeAttributes = { x: number; y: number; size: number; label: string; kind: string };
export type EdgeAttributes = { weight: number };
export type DrawnGraph = Graph<NodeAttributes, EdgeAttributes>;

export function newGraph(): DrawnGraph {
  return new Graph({ type: 'undirected' });
}

/** Returns a graph as the layout takes it. */
export function layoutOf(graph: DrawnGraph): Layout {
  const order = graph.nodes();
  const at = new Map(order.map((id, index) => [id, index * NODE]));
  const nodes = new Float32Array(order.length * NODE);
  order.forEach((id, index) => {
    const { x, y, size } = graph.getNodeAttributes(id);
    nodes.set([x, y, 0, 0, 0, 0, 1 + graph.degree(id), 1, size, 0], index * NODE);
  });
  const edges = new Float32Array(graph.size * EDGE);
  let next = 0;
  graph.forEachEdge((_, { weight }, source, target) => {
    edges.set([at.get(source)!, at.get(target)!, 0.3 + weight], EDGE * next++);
  });
  return { nodes, edges };
}

/** Moves the nodes to the places that the layout has found for them. */
export function moveNodes(graph: DrawnGraph, positions: Float32Array): void {
  let at = 0;
  graph.updateEachNodeAttributes(
    (_, attributes) => {
      attributes.x = positions[at++]!;
      attributes.y = positions[at++]!;
      return attributes;
    },
    { attributes: ['x', 'y'] },
  );
}
