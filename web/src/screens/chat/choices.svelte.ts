import { knowledge, ok } from '$lib/api/client';
import type { ProviderList } from '$lib/api/types/knowledge';
import { Setting } from '$lib/setting.svelte';
import type { Style } from './about';

/** Which kind of answer the user wants in this conversation, and which model; the model is remembered in this browser. */
class Choices {
  agent = $state('');
  provider = new Setting<string>('chat.provider', '');
  offered = $state.raw<ProviderList | null>(null);

  /** Without the list, questions are asked as the server's defaults say. */
  async load(): Promise<void> {
    this.offered = await ok(knowledge.GET('/api/providers')).catch(() => this.offered);
  }

  get agentType() {
    const types = this.offered?.agentTypes ?? [];
    return types.find(({ name }) => name === this.agent) ?? types[0];
  }

  get model() {
    const usable = this.offered?.providers.filter(({ configured }) => configured) ?? [];
    return (
      usable.find(({ name }) => name === this.provider.value) ??
      usable.find(({ name }) => name === this.offered?.default)
    );
  }

  get style(): Style {
    const { agentType, model } = this;
    const isDefault = !model?.model || model.name === this.offered?.default;
    return {
      ...(agentType ? { agentType: agentType.name } : {}),
      ...(isDefault ? {} : { llmConfig: { provider: model.name, model: model.model! } }),
    };
  }
}

export const choices = new Choices();
