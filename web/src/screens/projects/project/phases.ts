import type { HydratedProject } from '$lib/api/types/supervisor';
import type { Tone } from '$lib/ui/Badge.svelte';

export type PhaseState =
  'complete' | 'next' | 'later' | 'running' | 'waiting' | 'interrupted' | 'error' | 'cancelled';

/** Returns how far a phase is. `place` and `current` are places in the workflow. */
export function phaseState(phase: string, place: number, current: number, data: HydratedProject): PhaseState {
  const run = data.history.runs.find((one) => one.phase === phase);
  if (run?.status === 'running') return 'running';
  if (run?.status === 'interrupted')
    return (data.system_state.approvals ?? []).length > 0 ? 'waiting' : 'interrupted';
  if (run?.status === 'error') return 'error';
  if (place < current || data.project.status === 'complete' || run?.status === 'complete') return 'complete';
  if (run?.status === 'cancelled') return 'cancelled';
  return place === current ? 'next' : 'later';
}

export const phaseTone: Record<PhaseState, Tone> = {
  complete: 'ok',
  next: 'neutral',
  later: 'neutral',
  running: 'busy',
  waiting: 'warn',
  interrupted: 'warn',
  error: 'error',
  cancelled: 'neutral',
};
