import { Failure, ok, supervisor } from '$lib/api/client';
import type { DecisionKind } from '$lib/api/types/supervisor';

/** What was decided about an artifact, and by whom. */
export type Decided = {
  decision: DecisionKind | null;
  by: string | null;
  at: string | null;
  feedback: string | null;
  /** The artifact that the decision left: another one after an edit. */
  artifactId: string | null;
};

export type Decision =
  { decision: 'approve' } | { decision: 'edit'; content: string } | { decision: 'reject'; feedback: string };

/** Decides on one approval, and on no other: `approvalId` is always sent. Returns how many more wait in the run. */
export async function decide(projectId: string, approvalId: string, decision: Decision): Promise<number> {
  const { system_state } = await ok(
    supervisor.POST('/api/resume', { body: { projectId, approvalId, ...decision } }),
  );
  return system_state.approvals?.length ?? 0;
}

const KINDS: Record<string, DecisionKind> = { approved: 'approve', edited: 'edit', rejected: 'reject' };

/** Finds out what another person has decided: from the error that a late decision got, and from the project's history. */
export async function lookUp(
  projectId: string,
  approvalId: string,
  refused: unknown = null,
): Promise<Decided> {
  const said = (refused instanceof Failure ? refused.body : null) as {
    decision?: DecisionKind;
    decidedBy?: string;
    decidedAt?: string;
  } | null;
  const path = { id: projectId };
  const asked = ok(supervisor.GET('/api/hydrate/{id}', { params: { path } })).catch(() => null);
  const checkpoint = (await asked)?.history.checkpoints.find(({ id }) => id === approvalId);
  return {
    decision: said?.decision ?? KINDS[checkpoint?.status ?? ''] ?? null,
    by: said?.decidedBy ?? checkpoint?.decided_by ?? null,
    at: said?.decidedAt ?? null,
    feedback: checkpoint?.feedback ?? null,
    artifactId: checkpoint?.artifact_id ?? null,
  };
}
