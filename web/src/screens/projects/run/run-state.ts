import type { StreamEvent } from '$lib/api/stream';
import type { Artifact, ArtifactExcerpt, RunStatus } from '$lib/api/types/supervisor';
import { isWorksheet } from '../worksheets';

/*
 * A run as its events tell it. The stored events have rising ids and may come again after a reconnection; `agent_text`
 * has no id, and is placed by its offset. So nothing is lost and nothing is doubled, whatever is sent twice.
 */

export type AgentStage =
  | 'idle'
  | 'starting'
  | 'writing'
  | 'complete'
  | 'worksheet'
  | 'waiting'
  | 'rejected'
  | 'interrupted'
  | 'cancelled'
  | 'error';

export type AgentState = {
  stage: AgentStage;
  /** In percent. */
  progress: number;
  /** What it has written in this attempt. */
  text: string;
  artifact: Artifact | null;
  /** When this page saw it start; the trace has the true time. */
  seenAt: number | null;
};

export type WaitingArtifact = { approvalId: string; agent: string | null; reason: string };

export type RunState = {
  status: RunStatus;
  agents: Record<string, AgentState>;
  /** The agent that started last. */
  latest: string | null;
  waiting: WaitingArtifact[];
  /** Why the run was interrupted, cancelled or has failed. */
  reason: string | null;
  failedAgent: string | null;
  lastEventId: number;
};

export function newRun(): RunState {
  return {
    status: 'running',
    agents: {},
    latest: null,
    waiting: [],
    reason: null,
    failedAgent: null,
    lastEventId: 0,
  };
}

const IDLE: AgentState = { stage: 'idle', progress: 0, text: '', artifact: null, seenAt: null };

export function agentState(run: RunState | null, name: string): AgentState {
  return run?.agents[name] ?? IDLE;
}

/** Returns the run with the versions that people have made of its artifacts, which its events do not tell. */
export function withEdits(run: RunState, artifacts: ArtifactExcerpt[]): RunState {
  return artifacts.reduce((next, newest) => {
    const { artifact } = agentState(next, newest.agent);
    const isNewer = artifact?.run_id === newest.run_id && newest.version > artifact.version;
    // What is too long for the project's history is shown among the artifacts alone.
    if (!isNewer || newest.content_truncated) return next;
    return withAgent(next, newest.agent, (agent) => ({
      ...completed(agent, newest),
      stage: agent.stage === 'worksheet' ? completed(agent, newest).stage : agent.stage,
    }));
  }, run);
}

type Data = {
  agent?: string | null;
  agents?: string[] | null;
  progress?: number;
  text?: string;
  offset?: number;
  artifact?: Artifact | null;
  reason?: string | null;
  message?: string;
  approvalId?: string | null;
  decision?: 'approve' | 'edit' | 'reject' | null;
};

/** Returns the run after an event, or the same if the event is known already. */
export function applyEvent(run: RunState, { event, id, data }: StreamEvent, now = Date.now()): RunState {
  const number = id === null ? null : Number(id);
  if (number !== null && number <= run.lastEventId) return run;
  const next = number === null ? run : { ...run, lastEventId: number };
  const said = data as Data;
  switch (event) {
    case 'agent_start':
      return {
        ...withAgent(next, said.agent, () => ({ ...IDLE, stage: 'starting', seenAt: now })),
        latest: said.agent ?? null,
      };
    case 'agent_progress':
      return withAgent(next, said.agent, (agent) => ({
        ...agent,
        progress: said.progress ?? 0,
        stage: said.progress ? 'writing' : agent.stage,
      }));
    case 'agent_text':
      return withText(next, said);
    case 'agent_complete':
      return withAgent(next, said.agent, (agent) => completed(agent, said.artifact));
    case 'interrupt':
      return said.approvalId ? waits(next, said) : interrupted(next, said);
    case 'resumed':
      return resumed(next, said);
    case 'phase_complete':
      return { ...next, status: 'complete', waiting: [], reason: null };
    case 'error':
      return failed(next, said);
    case 'cancelled':
      return cancelled(next, said);
    default:
      return next;
  }
}

function withAgent(
  run: RunState,
  name: string | null | undefined,
  change: (agent: AgentState) => AgentState,
): RunState {
  if (!name) return run;
  return { ...run, agents: { ...run.agents, [name]: change(run.agents[name] ?? IDLE) } };
}

/** Places a piece of text. An agent that has finished has its artifact: a late piece changes nothing. */
function withText(run: RunState, { agent: name, text = '', offset = 0 }: Data): RunState {
  const stage = agentState(run, name ?? '').stage;
  if (stage !== 'starting' && stage !== 'writing') return run;
  return withAgent(run, name, (agent) => ({
    ...agent,
    stage: 'writing',
    text: agent.text.slice(0, offset) + text,
  }));
}

function completed(agent: AgentState, artifact: Artifact | null | undefined): AgentState {
  return {
    ...agent,
    stage: artifact && isWorksheet(artifact) ? 'worksheet' : 'complete',
    progress: 100,
    artifact: artifact ?? agent.artifact,
    text: artifact?.content ?? agent.text,
  };
}

function waits(run: RunState, { agent, approvalId, reason }: Data): RunState {
  const waiting = [...run.waiting, { approvalId: approvalId!, agent: agent ?? null, reason: reason ?? '' }];
  return {
    ...withAgent(run, agent, (state) => ({ ...state, stage: 'waiting' })),
    status: 'interrupted',
    waiting,
    reason: null,
  };
}

function interrupted(run: RunState, { reason }: Data): RunState {
  return { ...stopped(run, BUSY, 'interrupted'), status: 'interrupted', reason: reason ?? null };
}

function cancelled(run: RunState, { reason }: Data): RunState {
  const open: AgentStage[] = [...BUSY, 'waiting', 'interrupted'];
  return { ...stopped(run, open, 'cancelled'), status: 'cancelled', waiting: [], reason: reason ?? null };
}

const BUSY: AgentStage[] = ['starting', 'writing', 'rejected'];

/** What agents were writing is discarded. */
function stopped(run: RunState, which: AgentStage[], stage: AgentStage): RunState {
  const agents = Object.entries(run.agents).map(([name, agent]) => [
    name,
    which.includes(agent.stage) ? { ...agent, stage } : agent,
  ]);
  return { ...run, agents: Object.fromEntries(agents) };
}

function resumed(run: RunState, { agent, decision, approvalId, artifact }: Data): RunState {
  const waiting = run.waiting.filter((one) => one.approvalId !== approvalId);
  const decided = !decision
    ? run
    : withAgent(run, agent, (state) =>
        decision === 'reject' ? { ...state, stage: 'rejected' } : completed(state, artifact),
      );
  return {
    ...decided,
    waiting,
    status: waiting.length > 0 ? 'interrupted' : 'running',
    reason: null,
    failedAgent: null,
  };
}

function failed(run: RunState, { agent, message }: Data): RunState {
  const next = stopped(
    withAgent(run, agent, (state) => ({ ...state, stage: 'error' })),
    BUSY,
    'interrupted',
  );
  return { ...next, status: 'error', waiting: [], reason: message ?? null, failedAgent: agent ?? null };
}
