/* Draws the graph with WebGL. Loaded only when the drawing is shown. */
import Sigma from 'sigma';
import type { NodeDisplayData } from 'sigma/types';
import { colourOf, type Theme, themeOf, watchTheme } from './colours';
import { type Content, strengthOf } from './content';
import { type EdgeAttributes, layoutOf, moveNodes, newGraph, type NodeAttributes } from './drawn-graph';
import { nodeAt, type Point } from './hit';
import { drawConnections, drawHoveredNode, drawLabel, drawVeil, type DrawnNode, type Font } from './labels';
import type { Arranged } from './layout.worker';
import { placed } from './placing';

export type Shown = { nodes: ReadonlySet<string>; edges: ReadonlySet<string>; selected: string | null };

type Happens = {
  onselect: (id: string | null) => void;
  onexpand: (id: string) => void;
  /** Called with true as the nodes begin to be arranged, with false at the end. */
  onarranging: (arranging: boolean) => void;
};

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
  #sizes: ResizeObserver;
  #shown: Shown = { nodes: new Set(), edges: new Set(), selected: null };
  #hovered: string | null = null;

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
      defaultDrawNodeLabel: (context, data, settings) => drawLabel(context, data, settings, this.#theme),
      defaultDrawNodeHover: (context, data, settings) =>
        this.#point(context, data as DrawnNode & { key: string }, settings),
      nodeReducer: (id, data) => this.#node(id, data),
      edgeReducer: (key, data) => this.#edge(key, data),
    });
    // The library reads a pixel back from the graphics card for each movement of the pointer, which waits for the card.
    Object.assign(this.#sigma, {
      getNodeAtPosition: (point: Point) => nodeAt(point, this.#sigma, this.#shown.nodes),
    });
    this.#unwatch = watchTheme(() => this.#apply(themeOf(container)));
    this.#apply(this.#theme);
    this.#sizes = new ResizeObserver(() => this.#fitContainer());
    this.#sizes.observe(container);
    this.#listen();
  }

  /** Shows a part of a content. Nodes that were there before stay where they are. */
  show(content: Content, shown: Shown): void {
    // The pointer may still be at the node before, while the keyboard has found another one.
    if (shown.selected !== this.#shown.selected) this.#hover(null);
    const before = this.#shown;
    this.#shown = shown;
    if (content === this.#content) return this.#update(before);
    const isFirst = this.#graph.order === 0;
    const hasMore = this.#replace(content);
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
    this.#sizes.disconnect();
    this.#sigma.kill();
  }

  #listen(): void {
    this.#sigma.on('clickNode', ({ node }) => this.#happens.onselect(node));
    this.#sigma.on('clickStage', () => this.#happens.onselect(null));
    this.#sigma.on('doubleClickNode', ({ node, preventSigmaDefault }) => {
      preventSigmaDefault();
      this.#happens.onexpand(node);
    });
    this.#sigma.on('enterNode', ({ node }) => this.#hover(node));
    this.#sigma.on('leaveNode', () => this.#hover(null));
  }

  #hover(id: string | null): void {
    this.#hovered = id;
    Object.assign(this.#sigma, { hoveredNode: id });
    this.#sigma.getContainer().style.cursor = id ? 'pointer' : '';
  }

  /** Takes the size of the container, which a pane beside it changes: the library follows the window alone. */
  #fitContainer(): void {
    const { offsetWidth, offsetHeight } = this.#sigma.getContainer();
    const { width, height } = this.#sigma.getDimensions();
    if (width !== offsetWidth || height !== offsetHeight)
      this.#sigma.refresh({ partialGraph: {}, schedule: true });
  }

  /**
   * Draws the node that is pointed at or selected, with its connections, on a veil above all others. Drawing those anew
   * instead would take long in a large graph.
   */
  #point(context: CanvasRenderingContext2D, node: DrawnNode & { key: string }, font: Font): void {
    if (node.key === (this.#hovered ?? this.#shown.selected)) {
      drawVeil(context, this.#theme);
      drawConnections(context, node, this.#neighbours(node.key), font, this.#theme);
    }
    drawHoveredNode(context, node, font, this.#theme);
  }

  /** Returns the nodes that a shown connection leads to, the largest first. */
  #neighbours(id: string): DrawnNode[] {
    const found: DrawnNode[] = [];
    this.#graph.forEachEdge(id, (key, _, source, target) => {
      const node = this.#sigma.getNodeDisplayData(source === id ? target : source);
      if (!node || node.hidden || !this.#shown.edges.has(key)) return;
      const size = this.#sigma.scaleSize(node.size);
      found.push({ ...node, ...this.#sigma.framedGraphToViewport(node), size });
    });
    return found.sort((a, b) => b.size - a.size);
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

  /** Draws what differs from what was shown before: the selected node, or everything if a filter has changed. */
  #update(before: Shown): void {
    const isSame = before.nodes === this.#shown.nodes && before.edges === this.#shown.edges;
    const selected = [before.selected, this.#shown.selected].filter((id) => id && this.#graph.hasNode(id));
    const partialGraph = isSame
      ? { nodes: selected as string[] }
      : { nodes: this.#graph.nodes(), edges: this.#graph.edges() };
    // Nothing has moved: the index of positions stays as it is.
    this.#sigma.refresh({ partialGraph, skipIndexation: true, schedule: true });
  }

  #apply(theme: Theme): void {
    this.#theme = theme;
    this.#sigma.setSetting('labelColor', { color: theme.text });
  }

  #node(id: string, data: NodeAttributes): Partial<NodeDisplayData> {
    const { light, dark } = colourOf(data.kind);
    const isSelected = id === this.#shown.selected;
    return {
      ...data,
      hidden: !this.#shown.nodes.has(id),
      color: this.#theme.dark ? dark : light,
      highlighted: isSelected,
      forceLabel: isSelected || this.#graph.order <= FEW,
    };
  }

  #edge(key: string, { weight }: EdgeAttributes) {
    const [source, target] = this.#graph.extremities(key);
    const hidden =
      !this.#shown.edges.has(key) || !this.#shown.nodes.has(source) || !this.#shown.nodes.has(target);
    return { hidden, color: this.#theme.line, size: 0.7 + 1.5 * weight };
  }

  /** Has a worker arrange the nodes, and moves them as it goes on. */
  #arrange(): void {
    this.#worker?.terminate();
    const worker = (this.#worker = new Worker(new URL('./layout.worker.ts', import.meta.url), {
      type: 'module',
    }));
    worker.onmessage = ({ data }: MessageEvent<Arranged>) => {
      moveNodes(this.#graph, data.positions);
      if (data.done) this.#rest(worker);
    };
    worker.onerror = () => this.#rest(worker);
    this.#happens.onarranging(true);
    const layout = layoutOf(this.#graph);
    worker.postMessage(layout, [layout.nodes.buffer, layout.edges.buffer]);
  }

  #rest(worker: Worker): void {
    worker.terminate();
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#happens.onarranging(false);
  }
}

/** How long the camera moves, in milliseconds. */
function motion(): number {
  return matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 160;
}
