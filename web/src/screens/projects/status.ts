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
  complete: 'ok',
  error: 'error',
  cancelled: 'neutral',
} satisfies Record<keyof typeof words.status, Tone>;

/**
 * Returns the badge of a project or a run. A status is the same word everywhere; what worksheets leave to be done is told by
 * the icon alone: 'perhaps' where it is not known whether there are any.
 */
export function statusBadge(
  status: keyof typeof words.status,
  worksheets: boolean | 'perhaps' = false,
): Status {
  const open = status === 'complete' && worksheets;
  return {
    tone: open ? 'neutral' : (TONES[status] ?? 'neutral'),
    text: words.status[status] ?? status,
    icon: open === true ? ClipboardList : undefined,
  };
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
