import type { HydratedProject } from '$lib/api/types/supervisor';
import { isWorksheet } from '../worksheets';

export type PhaseState =
  | 'complete'
  | 'worksheets'
  | 'next'
  | 'later'
  | 'running'
  | 'waiting'
  | 'interrupted'
  | 'error'
  | 'cancelled';

/** Returns how far a phase is. `place` and `current` are places in the workflow. */
export function phaseState(phase: string, place: number, current: number, data: HydratedProject): PhaseState {
  const run = data.history.runs.find((one) => one.phase === phase);
  if (run?.status === 'running') return 'running';
  if (run?.status === 'interrupted')
    return (data.system_state.approvals ?? []).length > 0 ? 'waiting' : 'interrupted';
  if (run?.status === 'error') return 'error';
  if (place < current || data.project.status === 'complete' || run?.status === 'complete')
    return worksheetsOf(data, phase) > 0 ? 'worksheets' : 'complete';
  if (run?.status === 'cancelled') return 'cancelled';
  return place === current ? 'next' : 'later';
}

/** Returns how many artifacts of a phase, or of the whole project, are worksheets. */
export function worksheetsOf(data: HydratedProject, phase?: string): number {
  const { artifacts } = data.history;
  return artifacts.filter((one) => (!phase || one.phase === phase) && isWorksheet(one)).length;
}
