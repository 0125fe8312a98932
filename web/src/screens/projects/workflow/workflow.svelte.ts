import { ok, supervisor } from '$lib/api/client';
import type { Agent, Phase } from '$lib/api/types/supervisor';

/** The phases and agents of the workflow. It changes only when the server is started again, so it is read once. */
class Workflow {
  phases = $state.raw<Phase[]>([]);
  #reading: Promise<void> | null = null;

  async load(): Promise<void> {
    this.#reading ??= ok(supervisor.GET('/api/workflow')).then(({ phases }) => void (this.phases = phases));
    return this.#reading.catch((thrown) => {
      this.#reading = null;
      throw thrown;
    });
  }

  phase(name: string): Phase | undefined {
    return this.phases.find((phase) => phase.name === name);
  }

  /** Returns the place of a phase, counted from 0; -1 if the workflow does not have it any more. */
  position(name: string): number {
    return this.phases.findIndex((phase) => phase.name === name);
  }

  agent(name: string): Agent | undefined {
    return this.phases.flatMap(({ agents }) => agents).find((agent) => agent.name === name);
  }
}

export const workflow = new Workflow();
