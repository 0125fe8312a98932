import type { HydratedProject } from '$lib/api/types/supervisor';
import { expect, test } from 'vitest';
import { phaseState } from './phases';

function project(
  status: string,
  runs: [phase: string, status: string][],
  approvals = 0,
  artifacts: [phase: string, content: string][] = [],
): HydratedProject {
  return {
    project: { status },
    system_state: { approvals: Array.from({ length: approvals }, () => ({ approvalId: 'a' })) },
    history: {
      runs: runs.map(([phase, state]) => ({ phase, status: state })),
      artifacts: artifacts.map(([phase, content]) => ({ phase, content, edited_by: null })),
    },
  } as unknown as HydratedProject;
}

test('a phase is as its latest run left it', () => {
  const busy = project('running', [
    ['plan', 'running'],
    ['prd', 'complete'],
  ]);
  expect([
    phaseState('prd', 0, 1, busy),
    phaseState('plan', 1, 1, busy),
    phaseState('build', 2, 1, busy),
  ]).toEqual(['complete', 'running', 'later']);
  expect(phaseState('prd', 0, 0, project('active', []))).toBe('next');
  expect(phaseState('prd', 0, 0, project('error', [['prd', 'error']]))).toBe('error');
  expect(phaseState('prd', 0, 0, project('active', [['prd', 'cancelled']]))).toBe('cancelled');
});

test('a phase that waits for approval is told from one that a person interrupted', () => {
  expect(phaseState('prd', 0, 0, project('interrupted', [['prd', 'interrupted']], 1))).toBe('waiting');
  expect(phaseState('prd', 0, 0, project('interrupted', [['prd', 'interrupted']]))).toBe('interrupted');
});

test('a cancelled second run of a completed phase leaves it complete', () => {
  expect(
    phaseState(
      'prd',
      0,
      1,
      project('active', [
        ['prd', 'cancelled'],
        ['prd', 'complete'],
      ]),
    ),
  ).toBe('complete');
});

test('a phase that left worksheets is not shown as complete', () => {
  const sheet = '> A worksheet: `tiny` is too small a model to write this document. Give the agent';
  const ended = project(
    'active',
    [
      ['plan', 'complete'],
      ['prd', 'complete'],
    ],
    0,
    [
      ['prd', sheet],
      ['plan', '# Plan'],
    ],
  );
  expect([phaseState('prd', 0, 2, ended), phaseState('plan', 1, 2, ended)]).toEqual([
    'worksheets',
    'complete',
  ]);
});
