import { knowledge, ok } from '$lib/api/client';
import type { ProviderView } from '$lib/api/types/knowledge';
import type { Agent } from '$lib/api/types/supervisor';

const EMBEDDED = 'edge-ai';

/** The providers of models. They change only when the server is started again, so they are read once. */
class Models {
  #providers = $state.raw<ProviderView[]>([]);
  #reading: Promise<void> | null = null;

  /** Reads the providers. Without them, names are shown as the services use them. */
  async load(): Promise<void> {
    this.#reading ??= ok(knowledge.GET('/api/providers')).then(
      ({ providers }) => void (this.#providers = providers),
      () => void (this.#reading = null),
    );
    return this.#reading;
  }

  /** Returns the name of a provider that users know: OpenAI for `vendor-a`. */
  label(name: string): string {
    return this.#find(name)?.label ?? name;
  }

  /** Whether a vendor's model can be chosen for a run. */
  get hasVendor(): boolean {
    return this.#providers.some(({ name, configured }) => name !== EMBEDDED && configured);
  }

  /** Returns the names of the models that write documents for these agents. */
  writers(agents: Agent[]): string[] {
    return [...new Set(agents.filter(({ writes }) => writes).map((agent) => this.#answering(agent)))];
  }

  /** Returns the name of the model that is too small for one of these agents to write documents; null if there is none. */
  tooSmallFor(agents: Agent[]): string | null {
    const small = agents.find(({ writes }) => !writes);
    return small ? this.#answering(small) : null;
  }

  #answering({ provider, model }: Agent): string {
    const named = this.#find(provider);
    // The embedded model answers in place of a vendor without a key.
    const answering = named?.configured ? (model ?? named.model) : this.#find(EMBEDDED)?.model;
    return answering ?? this.label(provider);
  }

  #find(wanted: string): ProviderView | undefined {
    return this.#providers.find(({ name }) => name === wanted);
  }
}

export const models = new Models();
