import type { Agent, Phase } from '$lib/api/types/supervisor';

/*
 * Where agents stand when the workflow is drawn: from top to bottom, each below those whose artifacts it reads, phase after
 * phase. An arrow to the next row is a curve. A longer one runs through the gaps between rows and a lane at the side, so
 * that no arrow is hidden behind an agent; the arrows of one agent share its lane.
 */

export type Node = { agent: Agent; phase: string; x: number; y: number };
export type Edge = { from: string; to: string; path: string; head: string };
export type Band = { phase: string; y: number; height: number };
export type Drawing = {
  nodes: Node[];
  edges: Edge[];
  bands: Band[];
  width: number;
  /** The room for lanes at either side. */
  gutter: number;
  height: number;
  nodeWidth: number;
  nodeHeight: number;
};

const NODE = { width: 184, height: 56 };
const GAP = { x: 16, y: 52 };
/** The height of a phase's title. */
const TITLE = 44;
/** Between lanes, and between the horizontal parts of arrows. */
const LANE = 5;
const MOST_COLUMNS = 5;

export function draw(phases: Phase[], room: number): Drawing {
  const rows = phases.map(({ name, agents }) => ({ phase: name, layers: layers(agents) }));
  const lanes = laneOf(rows.flatMap(({ layers: all }) => all));
  const gutter = Math.ceil(lanes.size / 2) * LANE + 10;
  const inner = room - 2 * gutter;
  const columns = Math.max(1, Math.min(MOST_COLUMNS, Math.floor((inner + GAP.x) / (140 + GAP.x))));
  const widest = Math.min(
    columns,
    Math.max(1, ...rows.flatMap(({ layers: all }) => all.map((layer) => layer.length))),
  );
  const nodeWidth = Math.min(NODE.width, Math.floor((inner - (widest - 1) * GAP.x) / widest));
  // No wider than needed: lanes far from the agents are hard to follow.
  const width = Math.min(room, widest * (nodeWidth + GAP.x) + 2 * gutter);

  const nodes = new Map<string, Node & { row: number }>();
  const bands: Band[] = [];
  let [y, row] = [0, 0];
  for (const { phase, layers: all } of rows) {
    const top = y;
    y += TITLE;
    for (const layer of all) {
      for (const part of chunks(byInputs(layer, nodes), columns)) {
        const span = part.length * nodeWidth + (part.length - 1) * GAP.x;
        part.forEach((agent, index) => {
          nodes.set(agent.name, {
            agent,
            phase,
            row,
            x: (width - span) / 2 + index * (nodeWidth + GAP.x),
            y,
          });
        });
        y += NODE.height + GAP.y;
        row++;
      }
    }
    bands.push({ phase, y: top, height: y - top - GAP.y + 16 });
  }

  const edges = [...nodes.values()].flatMap((to) => {
    const inputs = to.agent.inputs.filter((name) => nodes.has(name));
    return inputs.map((name, index) => edge(nodes.get(name)!, to, (index + 1) / (inputs.length + 1)));
  });
  function edge(from: Node & { row: number }, to: Node & { row: number }, share: number): Edge {
    const [x1, y1] = [from.x + nodeWidth / 2, from.y + NODE.height];
    const [x2, y2] = [to.x + nodeWidth * share, to.y];
    const head = `M${x2 - 4} ${y2 - 7}L${x2 + 4} ${y2 - 7}L${x2} ${y2 - 1}Z`;
    const ids = { from: from.agent.name, to: to.agent.name };
    if (to.row === from.row + 1) {
      const bend = (y2 - y1) / 2;
      return { ...ids, head, path: `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - 6 - bend} ${x2} ${y2 - 6}` };
    }
    const lane = lanes.get(ids.from) ?? 0;
    const depth = Math.floor(lane / 2) * LANE;
    const side = lane % 2 === 0 ? gutter - 8 - depth : width - gutter + 8 + depth;
    const [out, back] = [y1 + 8 + depth / 2, y2 - 12 - depth / 2];
    return {
      ...ids,
      head,
      path: rounded([
        [x1, y1],
        [x1, out],
        [side, out],
        [side, back],
        [x2, back],
        [x2, y2 - 6],
      ]),
    };
  }
  const height = Math.max(0, y - GAP.y + 16);
  return {
    nodes: [...nodes.values()],
    edges,
    bands,
    width,
    gutter,
    height,
    nodeWidth,
    nodeHeight: NODE.height,
  };
}

/** Sorts the agents of a phase into layers: each agent is below all of the phase that it reads. */
export function layers(agents: Agent[]): Agent[][] {
  const depths = new Map<string, number>();
  const depth = (agent: Agent, path: Set<string>): number => {
    const known = depths.get(agent.name);
    if (known !== undefined) return known;
    // The server refuses circles; one must not hang the page all the same.
    if (path.has(agent.name)) return 0;
    const here = agents.filter(({ name }) => agent.inputs.includes(name));
    const found = Math.max(-1, ...here.map((input) => depth(input, new Set(path).add(agent.name)))) + 1;
    depths.set(agent.name, found);
    return found;
  };
  const sorted: Agent[][] = [];
  for (const agent of agents) (sorted[depth(agent, new Set())] ??= []).push(agent);
  return sorted.filter(Boolean);
}

/** Gives a lane to each agent that is read further down than in the next layer. */
function laneOf(all: Agent[][]): Map<string, number> {
  const rowOf = new Map(all.flatMap((layer, row) => layer.map(({ name }) => [name, row] as const)));
  const readFar = (name: string) =>
    all.some((layer, row) =>
      layer.some(({ inputs }) => inputs.includes(name) && row > (rowOf.get(name) ?? 0) + 1),
    );
  const names = [...rowOf.keys()].filter(readFar);
  return new Map(names.map((name, index) => [name, index]));
}

/** Orders a layer so that agents stand below what they read. */
function byInputs(layer: Agent[], placed: Map<string, Node>): Agent[] {
  const middle = (agent: Agent) => {
    const xs = agent.inputs.map((name) => placed.get(name)?.x).filter((x) => x !== undefined);
    return xs.length > 0 ? xs.reduce((sum, x) => sum + x, 0) / xs.length : 0;
  };
  return [...layer].sort((a, b) => middle(a) - middle(b));
}

function chunks<T>(items: T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

type Point = [x: number, y: number];

/** Draws a line through points, with rounded corners. */
function rounded(points: Point[]): string {
  const toward = ([x, y]: Point, [u, v]: Point): Point => {
    const length = Math.hypot(u - x, v - y) || 1;
    const part = Math.min(6, length / 2) / length;
    return [x + (u - x) * part, y + (v - y) * part];
  };
  const corners = points.slice(1, -1).map((corner, index) => {
    const [before, after] = [toward(corner, points[index]!), toward(corner, points[index + 2]!)];
    return `L${before.join(' ')}Q${corner.join(' ')} ${after.join(' ')}`;
  });
  return `M${points[0]!.join(' ')}${corners.join('')}L${points.at(-1)!.join(' ')}`;
}
