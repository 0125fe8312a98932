import type { Status, Tone } from '$lib/ui/Badge.svelte';
import { words } from '$words/projects';
import ClipboardList from '@lucide/svelte/icons/clipboard-list';
import type { PhaseState } from './project/phases';
import type { AgentStage } from './run/run-state';

/** The colour and icon of each status. The word stands beside it, always. */
const TONES = {
  active: 'neutral',
  running: 'busy',
  interrupted: 'warn',
  waiting: 'warn',
  stopped: 'warn',
  complete: 'ok',
  worksheets: 'neutral',
  ended: 'neutral',
  error: 'error',
  cancelled: 'neutral',
} satisfies Record<keyof typeof words.status, Tone>;

/** What a status leaves open. What is not known is left out. */
type Details = {
  /** Whether an artifact waits for approval. */
  waits?: boolean;
  /** Whether worksheets stand in place of documents. */
  worksheets?: boolean | 'perhaps';
};

/** Returns the badge of a project or a run: its status, and what it means for the user. */
export function statusBadge(status: keyof typeof words.status, { waits, worksheets }: Details = {}): Status {
  let shown = status;
  if (status === 'interrupted' && waits !== undefined) shown = waits ? 'waiting' : 'stopped';
  if (status === 'complete' && worksheets) shown = worksheets === 'perhaps' ? 'ended' : 'worksheets';
  const icon = shown === 'worksheets' ? ClipboardList : undefined;
  return { tone: TONES[shown] ?? 'neutral', text: words.status[shown] ?? shown, icon };
}

/** The tone of each state of an agent. */
export const stageTone: Record<AgentStage, Tone> = {
  idle: 'neutral',
  starting: 'busy',
  writing: 'busy',
  complete: 'ok',
  worksheet: 'neutral',
  waiting: 'warn',
  rejected: 'warn',
  interrupted: 'warn',
  cancelled: 'neutral',
  error: 'error',
};

/** Returns the badge of an agent. */
export function stageBadge(stage: AgentStage): Status {
  const icon = stage === 'worksheet' ? ClipboardList : undefined;
  return { tone: stageTone[stage], text: words.agent[stage], icon };
}

export const phaseTone: Record<PhaseState, Tone> = {
  complete: 'ok',
  worksheets: 'neutral',
  next: 'neutral',
  later: 'neutral',
  running: 'busy',
  waiting: 'warn',
  interrupted: 'warn',
  error: 'error',
  cancelled: 'neutral',
};

/** Returns the badge of a phase. */
export function phaseBadge(state: PhaseState): Status {
  const icon = state === 'worksheets' ? ClipboardList : undefined;
  return { tone: phaseTone[state], text: words.phase[state], icon };
}
