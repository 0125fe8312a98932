import type { Agent, Phase } from '$lib/api/types/supervisor';
import { expect, test } from 'vitest';
import { draw, layers } from './layout';

const agent = (name: string, ...inputs: string[]) => ({ name, inputs }) as Agent;
const phases: Phase[] = [
  { name: 'prd', agents: [agent('analyst'), agent('manager', 'analyst'), agent('critic', 'manager')] },
  {
    name: 'plan',
    agents: [
      agent('data', 'manager', 'architect'),
      agent('architect', 'critic'),
      agent('safety', 'architect'),
    ],
  },
];

test('an agent stands below all that it reads', () => {
  expect(layers(phases[1]!.agents).map((layer) => layer.map(({ name }) => name))).toEqual([
    ['architect'],
    ['data', 'safety'],
  ]);
  const { nodes } = draw(phases, 800);
  const y = (name: string) => nodes.find((node) => node.agent.name === name)!.y;
  for (const { agent: one } of nodes)
    for (const input of one.inputs) expect(y(input)).toBeLessThan(y(one.name));
});

test('agents do not overlap, and stay within the width', () => {
  for (const width of [340, 800]) {
    const { nodes, nodeWidth, nodeHeight } = draw(phases, width);
    for (const a of nodes) {
      expect(a.x).toBeGreaterThanOrEqual(0);
      expect(a.x + nodeWidth).toBeLessThanOrEqual(width);
      for (const b of nodes) {
        if (a === b) continue;
        const apart = Math.abs(a.x - b.x) >= nodeWidth || Math.abs(a.y - b.y) >= nodeHeight;
        expect(apart, `${a.agent.name} and ${b.agent.name}`).toBe(true);
      }
    }
  }
});

test('every input is an arrow, and inputs that do not exist are left out', () => {
  const { edges } = draw([{ name: 'prd', agents: [agent('a'), agent('b', 'a', 'nobody')] }], 400);
  expect(edges.map(({ from, to }) => [from, to])).toEqual([['a', 'b']]);
});

test('a circle does not hang the page', () => {
  expect(draw([{ name: 'prd', agents: [agent('a', 'b'), agent('b', 'a')] }], 400).nodes).toHaveLength(2);
});

test('a wide layer is broken into rows', () => {
  const many = Array.from({ length: 12 }, (_, index) => agent(`a${index}`));
  const { nodes } = draw([{ name: 'prd', agents: many }], 360);
  expect(new Set(nodes.map(({ y }) => y)).size).toBe(6);
});
