import type { NodeDisplayData, PartialButFor } from 'sigma/types';
import type { Theme } from './colours';

export type DrawnNode = PartialButFor<NodeDisplayData, 'x' | 'y' | 'size' | 'label' | 'color'>;

export type Font = { labelSize: number; labelFont: string };

/** Draws the name of a node, with a rim that keeps it legible over other nodes. */
export function drawLabel(
  context: CanvasRenderingContext2D,
  node: DrawnNode,
  font: Font,
  theme: Theme,
): void {
  if (!node.label) return;
  context.font = `500 ${font.labelSize}px ${font.labelFont}`;
  const [x, y] = [node.x + node.size + 3, node.y + font.labelSize / 3];
  context.lineJoin = 'round';
  context.lineWidth = 4;
  context.strokeStyle = theme.background;
  context.strokeText(node.label, x, y);
  context.fillStyle = theme.text;
  context.fillText(node.label, x, y);
}

/** Neighbours whose names are drawn: more would cover each other. */
const NAMED = 12;

/** Dims all that is drawn already. */
export function drawVeil(context: CanvasRenderingContext2D, theme: Theme): void {
  context.globalAlpha = 0.82;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, context.canvas.width, context.canvas.height);
  context.globalAlpha = 1;
}

/** Draws what a node is connected with: lines, the nodes at their ends above these, and the names of the first. */
export function drawConnections(
  context: CanvasRenderingContext2D,
  from: DrawnNode,
  neighbours: DrawnNode[],
  font: Font,
  theme: Theme,
): void {
  context.beginPath();
  for (const { x, y } of neighbours) {
    context.moveTo(from.x, from.y);
    context.lineTo(x, y);
  }
  context.lineWidth = 1.5;
  context.strokeStyle = theme.text;
  context.stroke();
  for (const { x, y, size, color } of neighbours) {
    context.beginPath();
    context.arc(x, y, size, 0, Math.PI * 2);
    context.fillStyle = color;
    context.fill();
  }
  for (const node of neighbours.slice(0, NAMED)) drawLabel(context, node, font, theme);
}

/** Draws a node that is pointed at or selected: a ring around it, and its label on a plate in the theme's colours. */
export function drawHoveredNode(
  context: CanvasRenderingContext2D,
  node: DrawnNode,
  settings: Font,
  theme: Theme,
): void {
  context.beginPath();
  context.arc(node.x, node.y, node.size + 3, 0, Math.PI * 2);
  context.lineWidth = 2;
  context.strokeStyle = theme.text;
  context.stroke();
  if (!node.label) return;
  context.font = `600 ${settings.labelSize}px ${settings.labelFont}`;
  const width = context.measureText(node.label).width;
  const [left, top] = [node.x + node.size + 6, node.y - settings.labelSize / 2 - 5];
  context.beginPath();
  context.roundRect(left, top, width + 12, settings.labelSize + 10, 4);
  context.fillStyle = theme.background;
  context.fill();
  context.lineWidth = 1;
  context.strokeStyle = theme.line;
  context.stroke();
  context.fillStyle = theme.text;
  context.fillText(node.label, left + 6, node.y + settings.labelSize / 3);
}
