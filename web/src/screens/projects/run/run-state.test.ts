import type { Artifact, ArtifactExcerpt } from '$lib/api/types/supervisor';
import { expect, test } from 'vitest';
import { agentState, applyEvent, newRun, type RunState, withEdits } from './run-state';

type Told = [id: number | null, event: string, data: object];

function tell(run: RunState, ...events: Told[]): RunState {
  return events.reduce(
    (state, [id, event, data]) => applyEvent(state, { id: id === null ? null : String(id), event, data }, 5),
    run,
  );
}

const artifact = (content: string, version = 1) => ({ content, version }) as Artifact;
const START: Told = [1, 'agent_start', { agent: 'analyst', phase: 'prd' }];

test('pieces of text are placed by their offset, and one that comes twice is not doubled', () => {
  const run = tell(newRun(), START, [null, 'agent_text', { agent: 'analyst', text: 'Bees ', offset: 0 }]);
  const more = tell(
    run,
    [null, 'agent_text', { agent: 'analyst', text: 'fly', offset: 5 }],
    [null, 'agent_text', { agent: 'analyst', text: 'fly', offset: 5 }],
  );
  expect(agentState(more, 'analyst').text).toBe('Bees fly');
  // A client that comes back gets everything so far in one piece.
  const back = tell(more, [null, 'agent_text', { agent: 'analyst', text: 'Bees fly home', offset: 0 }]);
  expect(agentState(back, 'analyst').text).toBe('Bees fly home');
});

test('a second attempt starts the text again', () => {
  const run = tell(
    newRun(),
    START,
    [null, 'agent_text', { agent: 'analyst', text: 'first', offset: 0 }],
    [null, 'agent_text', { agent: 'analyst', text: 'n', offset: 0 }],
  );
  expect(agentState(run, 'analyst').text).toBe('n');
});

test('events that were seen are ignored after a reconnection', () => {
  const run = tell(
    newRun(),
    START,
    [2, 'agent_progress', { agent: 'analyst', progress: 40 }],
    [null, 'agent_text', { agent: 'analyst', text: 'Bees', offset: 0 }],
  );
  expect(tell(run, START, [2, 'agent_progress', { agent: 'analyst', progress: 40 }])).toEqual(run);
});

test('the artifact replaces the text, and a late piece does not change it', () => {
  const run = tell(
    newRun(),
    START,
    [2, 'agent_complete', { agent: 'analyst', artifact: artifact('whole') }],
    [null, 'agent_text', { agent: 'analyst', text: 'late', offset: 0 }],
  );
  expect(agentState(run, 'analyst')).toMatchObject({ stage: 'complete', progress: 100, text: 'whole' });
});

test('an approval waits until it is decided', () => {
  const waiting = tell(
    newRun(),
    START,
    [2, 'agent_complete', { agent: 'analyst', artifact: artifact('one') }],
    [3, 'interrupt', { agent: 'analyst', reason: 'waits', approvalId: 'a1' }],
  );
  expect(waiting).toMatchObject({ status: 'interrupted', waiting: [{ approvalId: 'a1', agent: 'analyst' }] });
  const rejected = tell(waiting, [
    4,
    'resumed',
    { agent: 'analyst', decision: 'reject', approvalId: 'a1', waiting: 0 },
  ]);
  expect(rejected).toMatchObject({ status: 'running', waiting: [] });
  expect(agentState(rejected, 'analyst').stage).toBe('rejected');
  const edited = tell(waiting, [
    4,
    'resumed',
    { agent: 'analyst', decision: 'edit', approvalId: 'a1', waiting: 0, artifact: artifact('two', 2) },
  ]);
  expect(agentState(edited, 'analyst')).toMatchObject({ stage: 'complete', text: 'two' });
});

test('an interruption stops who was writing, and who has finished stays so', () => {
  const run = tell(
    newRun(),
    START,
    [2, 'agent_complete', { agent: 'analyst', artifact: artifact('one') }],
    [3, 'agent_start', { agent: 'critic' }],
    [4, 'interrupt', { agents: ['critic'], agent: 'critic', reason: 'wrong seed', approvalId: null }],
  );
  expect(run).toMatchObject({ status: 'interrupted', reason: 'wrong seed', waiting: [] });
  expect([agentState(run, 'analyst').stage, agentState(run, 'critic').stage]).toEqual([
    'complete',
    'interrupted',
  ]);
});

test('a cancelled run leaves no agent that waits or could be resumed', () => {
  const run = tell(
    newRun(),
    START,
    [2, 'agent_complete', { agent: 'analyst', artifact: artifact('one') }],
    [3, 'agent_start', { agent: 'critic' }],
    [4, 'interrupt', { agents: ['critic'], agent: 'critic', reason: '', approvalId: null }],
    [5, 'cancelled', { reason: 'not needed' }],
  );
  expect([agentState(run, 'analyst').stage, agentState(run, 'critic').stage]).toEqual([
    'complete',
    'cancelled',
  ]);
});

test('a worksheet is not shown as a document that is done', () => {
  const sheet = artifact('> A worksheet: `tiny` is too small a model to write this document. Give it');
  const run = tell(newRun(), START, [2, 'agent_complete', { agent: 'analyst', artifact: sheet }]);
  expect(agentState(run, 'analyst').stage).toBe('worksheet');
});

test('a run that failed says who and why, and goes on when it is executed again', () => {
  const run = tell(
    newRun(),
    START,
    [2, 'agent_start', { agent: 'critic' }],
    [3, 'error', { agent: 'analyst', message: 'no answer' }],
  );
  expect(run).toMatchObject({ status: 'error', reason: 'no answer', failedAgent: 'analyst' });
  expect(agentState(run, 'critic').stage).toBe('interrupted');
  const again = tell(
    run,
    [4, 'resumed', { agent: null, decision: null, reason: 'executed again' }],
    [5, 'agent_start', { agent: 'analyst' }],
  );
  expect(again).toMatchObject({ status: 'running', reason: null, failedAgent: null });
  expect(agentState(again, 'analyst')).toMatchObject({ stage: 'starting', text: '' });
});

test('what a person has edited takes the place of what the agent wrote', () => {
  const sheet =
    '> A worksheet: `tiny` is too small a model to write this document. Give the agent a larger one.';
  const run = tell(newRun(), START, [
    2,
    'agent_complete',
    { agent: 'analyst', artifact: { ...artifact(sheet), run_id: 'one' } },
  ]);
  expect(agentState(run, 'analyst').stage).toBe('worksheet');
  const edit = { agent: 'analyst', run_id: 'one', version: 2, content: 'Mine', content_truncated: false };
  const edited = withEdits(run, [edit as ArtifactExcerpt]);
  expect(agentState(edited, 'analyst')).toMatchObject({ stage: 'complete', text: 'Mine' });
  // The version of another run, or one that is cut, does not.
  for (const other of [{ run_id: 'two' }, { version: 1 }, { content_truncated: true }])
    expect(withEdits(run, [{ ...edit, ...other } as ArtifactExcerpt])).toEqual(run);
});
