import type { Edge, Graph, Node } from '$lib/api/types/knowledge';

/** The part of the graph that is on the screen: nodes by their id, and edges whose both ends are there. */
export type Content = { nodes: Map<string, Node>; edges: Map<string, Edge> };

export type Filter = {
  /** Connections weaker than this are left out, and nodes that have none then. */
  strength: number;
  hidden: ReadonlySet<string>;
};

/**
 * Adds answers of the server to each other. An edge that leads nowhere, or to itself, is left out: one bad edge must not
 * cost the drawing. Of two edges between the same nodes, the stronger one stays.
 */
export function combined(graphs: Pick<Graph, 'nodes' | 'edges'>[]): Content {
  const nodes = new Map<string, Node>();
  const edges = new Map<string, Edge>();
  for (const graph of graphs) for (const node of graph.nodes) if (node.id) nodes.set(node.id, node);
  for (const edge of graphs.flatMap((graph) => graph.edges)) {
    const { source, target } = edge;
    if (source === target || !nodes.has(source) || !nodes.has(target)) continue;
    const key = source < target ? `${source}\n${target}` : `${target}\n${source}`;
    const known = edges.get(key);
    if (!known || strengthOf(edge) > strengthOf(known)) edges.set(key, edge);
  }
  return { nodes, edges };
}

/** Returns the ids of the nodes and the keys of the edges that a filter leaves. */
export function visible(
  { nodes, edges }: Content,
  filter: Filter,
): { nodes: Set<string>; edges: Set<string> } {
  const shown = new Set<string>();
  for (const node of nodes.values()) if (!filter.hidden.has(node.type)) shown.add(node.id);
  const strong = new Set<string>();
  const connected = new Set<string>();
  for (const [key, edge] of edges) {
    if (!shown.has(edge.source) || !shown.has(edge.target) || strengthOf(edge) < filter.strength) continue;
    strong.add(key);
    connected.add(edge.source).add(edge.target);
  }
  return { nodes: filter.strength > 0 ? connected : shown, edges: strong };
}

/** Returns the neighbours of a node in the content, the strongest connection first. */
export function neighbours({ nodes, edges }: Content, id: string): { node: Node; strength: number }[] {
  const found: { node: Node; strength: number }[] = [];
  for (const edge of edges.values()) {
    const other = edge.source === id ? edge.target : edge.target === id ? edge.source : null;
    const node = other === null ? undefined : nodes.get(other);
    if (node) found.push({ node, strength: strengthOf(edge) });
  }
  return found.sort((a, b) => b.strength - a.strength);
}

/** A strength between 0 and 1, whatever the server says. */
export function strengthOf({ strength }: { strength: number }): number {
  return Number.isFinite(strength) ? Math.max(0, Math.min(1, strength)) : 0;
}
