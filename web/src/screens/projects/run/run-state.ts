import type { StreamEvent } from '$lib/api/stream';
import type { Artifact, RunStatus } from '$lib/api/types/supervisor';

/*
 * A run as its events tell it. The stored events have rising ids and may come again after a reconnection; `agent_text`
 * has no id, and is placed by its offset. So nothing is lost and nothing is doubled, whatever is sent twice.
 */

export type AgentStage =
  'idle' | 'starting' | 'writing' | 'complete' | 'waiting' | 'rejected' | 'interrupted' | 'error';

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
      return { ...stopped(next), status: 'cancelled', waiting: [], reason: said.reason ?? null };
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
    stage: 'complete',
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
  return { ...stopped(run), status: 'interrupted', reason: reason ?? null };
}

/** What agents were writing is discarded. */
function stopped(run: RunState): RunState {
  const agents = Object.entries(run.agents).map(([name, agent]) => {
    const busy = agent.stage === 'starting' || agent.stage === 'writing' || agent.stage === 'rejected';
    return [name, busy ? { ...agent, stage: 'interrupted' as const } : agent];
  });
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
  const next = withAgent(run, agent, (state) => ({ ...state, stage: 'error' }));
  return { ...next, status: 'error', waiting: [], reason: message ?? null, failedAgent: agent ?? null };
}
