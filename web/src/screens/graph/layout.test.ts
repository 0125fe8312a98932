import { expect, test } from 'vitest';
import { arrange, EDGE, NODE, positionsOf } from './layout';

/** A ring of nodes, placed at random but always alike. */
function ring(order: number) {
  const nodes = new Float32Array(order * NODE);
  const edges = new Float32Array(order * EDGE);
  for (let i = 0; i < order; i++) {
    nodes.set([Math.sin(i * 12.9898) * 100, Math.cos(i * 78.233) * 100, 0, 0, 0, 0, 3, 1, 4, 0], i * NODE);
    edges.set([i * NODE, ((i + 1) % order) * NODE, 1], i * EDGE);
  }
  return { nodes, edges };
}

test('the layout ends by itself, with a place for every node', () => {
  for (const order of [0, 1, 2, 60]) {
    const layout = ring(order);
    expect(arrange(layout, () => true)).toBeLessThanOrEqual(400);
    expect([...positionsOf(layout.nodes)].every(Number.isFinite)).toBe(true);
  }
});

test('connected nodes come to lie closer together than others', () => {
  const layout = ring(40);
  arrange(layout, () => true);
  const at = (i: number) => [layout.nodes[i * NODE]!, layout.nodes[i * NODE + 1]!] as const;
  const distance = (a: number, b: number) => Math.hypot(at(a)[0] - at(b)[0], at(a)[1] - at(b)[1]);
  let [near, far] = [0, 0];
  for (let i = 0; i < 40; i++) {
    near += distance(i, (i + 1) % 40);
    far += distance(i, (i + 20) % 40);
  }
  expect(near).toBeLessThan(far / 2);
});

test('it stops when it is told to', () => {
  let batches = 0;
  arrange(ring(40), () => ++batches < 2);
  expect(batches).toBe(2);
});
