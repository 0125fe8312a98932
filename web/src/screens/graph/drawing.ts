/* Draws the graph with WebGL. Loaded only when the drawing is shown. */
import Graph from 'graphology';
import Sigma from 'sigma';
import type { NodeDisplayData } from 'sigma/types';
import { colourOf, type Theme, themeOf, watchTheme } from './colours';
import { type Content, strengthOf } from './content';
import { nodeAt, type Point } from './hit';
import { drawHoveredNode, drawLabel } from './labels';
import { EDGE, NODE } from './layout';
import type { Arranged } from './layout.worker';
import { placed } from './placing';

export type Shown = { nodes: ReadonlySet<string>; edges: ReadonlySet<string>; selected: string | null };

type Happens = {
  onselect: (id: string | null) => void;
  onexpand: (id: string) => void;
  /** Called with true as the nodes begin to be arranged, with false at the end. */
  onarranging: (arranging: boolean) => void;
};

type NodeAttributes = { x: number; y: number; size: number; label: string; kind: string };
type EdgeAttributes = { weight: number };

/** So few nodes all show their names. */
const FEW = 40;

export class Drawing {
  #graph = newGraph();
  #content: Content | null = null;
  #sigma: Sigma<NodeAttributes, EdgeAttributes>;
  #happens: Happens;
  #theme: Theme;
  #worker: Worker | null = null;
  #unwatch: () => void;
  #shown: Shown = { nodes: new Set(), edges: new Set(), selected: null };
  #hovered: string | null = null;
  /** The node that the others are compared with, and its neighbours. */
  #near: Set<string> | null = null;

  constructor(container: HTMLElement, happens: Happens) {
    this.#happens = happens;
    this.#theme = themeOf(container);
    this.#sigma = new Sigma(this.#graph, container, {
      allowInvalidContainer: true,
      labelFont: getComputedStyle(container).fontFamily,
      labelSize: 12,
      labelDensity: 0.5,
      labelGridCellSize: 140,
      labelRenderedSizeThreshold: 5,
      minCameraRatio: 0.02,
      maxCameraRatio: 3,
      zIndex: true,
      defaultDrawNodeLabel: (context, data, settings) => drawLabel(context, data, settings, this.#theme),
      defaultDrawNodeHover: (context, data, settings) =>
        drawHoveredNode(context, data, settings, this.#theme),
      nodeReducer: (id, data) => this.#node(id, data),
      edgeReducer: (key, data) => this.#edge(key, data),
    });
    // The library reads a pixel back from the graphics card for each movement of the pointer, which waits for the card.
    Object.assign(this.#sigma, {
      getNodeAtPosition: (point: Point) => nodeAt(point, this.#sigma, this.#shown.nodes),
    });
    this.#unwatch = watchTheme(() => this.#apply(themeOf(container)));
    this.#apply(this.#theme);
    this.#listen();
  }

  /** Shows a part of a content. Nodes that were there before stay where they are. */
  show(content: Content, shown: Shown): void {
    this.#shown = shown;
    if (content === this.#content) return this.#compare();
    const isFirst = this.#graph.order === 0;
    const hasMore = this.#replace(content);
    this.#near = this.#nearby();
    this.#sigma.setGraph(this.#graph);
    if (hasMore) this.#arrange();
    if (isFirst) this.fit();
  }

  /** Moves a node into the middle. */
  center(id: string): void {
    const at = this.#sigma.getNodeDisplayData(id);
    if (!at) return;
    const camera = this.#sigma.getCamera();
    void camera.animate({ x: at.x, y: at.y, ratio: Math.min(camera.ratio, 0.35) }, { duration: motion() });
  }

  zoom(by: 'in' | 'out'): void {
    const camera = this.#sigma.getCamera();
    void (by === 'in'
      ? camera.animatedZoom({ duration: motion() })
      : camera.animatedUnzoom({ duration: motion() }));
  }

  fit(): void {
    void this.#sigma.getCamera().animatedReset({ duration: motion() });
  }

  destroy(): void {
    this.#worker?.terminate();
    this.#unwatch();
    this.#sigma.kill();
  }

  #listen(): void {
    this.#sigma.on('clickNode', ({ node }) => this.#happens.onselect(node));
    this.#sigma.on('clickStage', () => this.#happens.onselect(null));
    this.#sigma.on('doubleClickNode', ({ node, preventSigmaDefault }) => {
      preventSigmaDefault();
      this.#happens.onexpand(node);
    });
    const hover = (id: string | null) => {
      this.#hovered = id;
      this.#sigma.getContainer().style.cursor = id ? 'pointer' : '';
      this.#compare();
    };
    this.#sigma.on('enterNode', ({ node }) => hover(node));
    this.#sigma.on('leaveNode', () => hover(null));
  }

  /** Makes the graph of a content. Returns whether it has nodes or edges that were not drawn before. */
  #replace(content: Content): boolean {
    const before = this.#graph;
    // A graph of its own: the drawing would react to each node that is added to the one it shows.
    const graph = newGraph();
    // Narrow screens get smaller nodes.
    const scale = Math.max(0.5, Math.min(1, this.#sigma.getContainer().offsetWidth / 900));
    const places = placed(content, (id) => (before.hasNode(id) ? before.getNodeAttributes(id) : null));
    for (const node of content.nodes.values()) {
      const { x, y } = before.hasNode(node.id) ? before.getNodeAttributes(node.id) : places.get(node.id)!;
      const size = scale * (3 + 9 * Math.sqrt(strengthOf(node)));
      graph.addNode(node.id, { x, y, size, label: node.label, kind: node.type });
    }
    for (const [key, edge] of content.edges) {
      graph.addUndirectedEdgeWithKey(key, edge.source, edge.target, { weight: strengthOf(edge) });
    }
    const hasMore =
      graph.someNode((id) => !before.hasNode(id)) || graph.someEdge((key) => !before.hasEdge(key));
    this.#content = content;
    this.#graph = graph;
    return hasMore;
  }

  #nearby(): Set<string> | null {
    const id = this.#hovered ?? this.#shown.selected;
    return id && this.#graph.hasNode(id) ? new Set([id, ...this.#graph.neighbors(id)]) : null;
  }

  #compare(): void {
    this.#near = this.#nearby();
    // Nothing has moved: the index of positions stays as it is.
    const partialGraph = { nodes: this.#graph.nodes(), edges: this.#graph.edges() };
    this.#sigma.refresh({ partialGraph, skipIndexation: true, schedule: true });
  }

  #apply(theme: Theme): void {
    this.#theme = theme;
    this.#sigma.setSetting('labelColor', { color: theme.text });
  }

  #node(id: string, data: NodeAttributes): Partial<NodeDisplayData> {
    const hidden = !this.#shown.nodes.has(id);
    const { light, dark } = colourOf(data.kind);
    const faint = this.#near !== null && !this.#near.has(id);
    const isSelected = id === this.#shown.selected;
    return {
      ...data,
      hidden,
      color: faint ? this.#theme.faint : this.#theme.dark ? dark : light,
      ...(faint ? { label: null } : {}),
      zIndex: faint ? 0 : 1,
      highlighted: isSelected,
      forceLabel: isSelected || id === this.#hovered || this.#graph.order <= FEW,
    };
  }

  #edge(key: string, { weight }: EdgeAttributes) {
    const [source, target] = this.#graph.extremities(key);
    const id = this.#hovered ?? this.#shown.selected;
    const own = this.#near !== null && (source === id || target === id);
    const hidden =
      !this.#shown.edges.has(key) || !this.#shown.nodes.has(source) || !this.#shown.nodes.has(target);
    const color = own ? this.#theme.text : this.#near ? this.#theme.faint : this.#theme.line;
    return { hidden, color, size: (own ? 1.2 : 0.7) + 1.5 * weight, zIndex: own ? 1 : 0 };
  }

  /** Has a worker arrange the nodes, and moves them as it goes on. */
  #arrange(): void {
    this.#worker?.terminate();
    const worker = (this.#worker = new Worker(new URL('./layout.worker.ts', import.meta.url), {
      type: 'module',
    }));
    const graph = this.#graph;
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
    worker.onmessage = ({ data }: MessageEvent<Arranged>) => {
      this.#move(data.positions);
      if (data.done) this.#rest(worker);
    };
    worker.onerror = () => this.#rest(worker);
    this.#happens.onarranging(true);
    worker.postMessage({ nodes, edges }, [nodes.buffer, edges.buffer]);
  }

  #move(positions: Float32Array): void {
    let at = 0;
    this.#graph.updateEachNodeAttributes(
      (_, attributes) => {
        attributes.x = positions[at++]!;
        attributes.y = positions[at++]!;
        return attributes;
      },
      { attributes: ['x', 'y'] },
    );
  }

  #rest(worker: Worker): void {
    worker.terminate();
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#happens.onarranging(false);
  }
}

function newGraph(): Graph<NodeAttributes, EdgeAttributes> {
  return new Graph({ type: 'undirected' });
}

/** How long the camera moves, in milliseconds. */
function motion(): number {
  return matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 160;
}
