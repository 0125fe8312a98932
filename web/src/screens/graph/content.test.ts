import type { Edge, Node } from '$lib/api/types/knowledge';
import { expect, test } from 'vitest';
import { combined, neighbours, visible } from './content';

const node = (id: string, type = 'concept') => ({ id, label: id, type, strength: 0.5 }) as Node;
const edge = (source: string, target: string, strength = 0.5) =>
  ({ source, target, type: 'relates_to', strength }) as Edge;

test('edges that lead nowhere, to themselves, or twice the same way are left out', () => {
  const nodes = [node('a'), node('b')];
  const edges = [
    edge('a', 'gone'),
    edge('a', 'a'),
    edge('a', 'b', 0.2),
    edge('b', 'a', 0.9),
    edge('gone', 'b'),
  ];
  const content = combined([{ nodes, edges }]);
  expect([...content.edges.values()]).toEqual([edge('b', 'a', 0.9)]);
});

test('an expansion adds nodes and the edges to them', () => {
  const content = combined([
    { nodes: [node('a'), node('b')], edges: [edge('a', 'b')] },
    { nodes: [node('b'), node('c')], edges: [edge('b', 'c')] },
  ]);
  expect([...content.nodes.keys()]).toEqual(['a', 'b', 'c']);
  expect(neighbours(content, 'b').map(({ node }) => node.id)).toEqual(['a', 'c']);
});

test('a filter leaves strong connections, and nodes that have one', () => {
  const nodes = [node('a'), node('b'), node('c', 'person'), node('d')];
  const content = combined([
    { nodes, edges: [edge('a', 'b', 0.8), edge('b', 'c', 0.9), edge('c', 'd', 0.1)] },
  ]);
  expect(visible(content, { strength: 0, hidden: new Set() }).nodes.size).toBe(4);
  expect([...visible(content, { strength: 0.5, hidden: new Set() }).nodes]).toEqual(['a', 'b', 'c']);
  expect([...visible(content, { strength: 0.5, hidden: new Set(['person']) }).nodes]).toEqual(['a', 'b']);
});

test('a strength that is no number counts as none', () => {
  const content = combined([{ nodes: [node('a'), node('b')], edges: [edge('a', 'b', NaN)] }]);
  expect(visible(content, { strength: 0.1, hidden: new Set() }).edges.size).toBe(0);
});
