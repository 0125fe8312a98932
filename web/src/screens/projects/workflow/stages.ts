import type { HydratedProject } from '$lib/api/types/supervisor';
import type { ProjectState } from '../project/project.svelte';
import { agentState, type AgentStage } from '../run/run-state';
import { isWorksheet } from '../worksheets';

/** Returns how far an agent is: live in the phase that is followed, from the project's history in others. */
export function stageOf(
  agent: string,
  phase: string,
  project: ProjectState,
  data: HydratedProject,
): AgentStage {
  const run = data.history.runs.find((one) => one.phase === phase);
  const state = project.stateOf(run);
  if (state) return agentState(state, agent).stage;
  const trace = data.history.traces.find((one) => one.agent === agent && one.run_id === run?.id);
  if (trace?.status === 'running') return 'writing';
  if (trace?.status === 'interrupted' && run?.status === 'cancelled') return 'cancelled';
  if (trace && trace.status !== 'complete') return trace.status;
  const artifact = data.history.artifacts.find((one) => one.agent === agent);
  if (!artifact) return 'idle';
  return isWorksheet(artifact) ? 'worksheet' : 'complete';
}
