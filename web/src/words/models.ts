/** What the screen of models says about connections. */
export const words = {
  title: 'Connections',
  about:
    'Servers and vendors whose models answer questions and write for agents. Keys are kept encrypted and never shown.',
  add: 'Add a connection',
  none: 'No connection yet: answers quote your documents. A model that writes can be added here.',
  fromSettings: 'From the settings',
  models: (n: number) => (n === 1 ? '1 model' : `${n} models`),
  noModels: 'No models known',
  actions: (name: string) => `Actions for ${name}`,
  test: 'Test',
  remove: 'Remove',
  removed: (name: string) => `Removed ${name}`,
  notRemoved: (name: string, why: string) => `${name} was not removed: ${why}`,
  testing: 'Asking it for a sentence…',
  wrote: (model: string, answer: string, speed: number | null) =>
    `${model} wrote “${answer}”${speed === null ? '' : ` at ${speed} tokens a second`}.`,
  failed: (why: string) => `It does not work: ${why}`,
  found: (name: string, models: number, first: string) =>
    `${name} runs on the server with ${models === 1 ? '1 model' : `${models} models`}: use ${first}?`,
  use: 'Use it',
  answers: {
    title: 'Who answers',
    chat: 'Questions',
    agents: 'Agents',
    settings: 'As the settings of the server say',
  },
  form: {
    title: 'Add a connection',
    what: 'What it is',
    name: 'Name',
    nameHint: 'What people choose it by.',
    address: 'Address',
    key: 'Key',
    keyHint: 'Empty if the server asks for none.',
    submit: 'Connect',
    added: (name: string, models: number) =>
      `${name} is connected, with ${models === 1 ? '1 model' : `${models} models`}.`,
    unreached: (why: string) => `It was added, but its models are not known: ${why}`,
    other: 'Another server with OpenAI’s protocol',
  },
  settingsHint:
    'VENDOR_A_API_KEY and the like connect vendors by the settings of the server; EDGE_AI_MODEL names a larger model that it runs itself.',
};

/** What people have, with the protocol and the address of each. */
export const KNOWN = [
  { name: 'Ollama', kind: 'ollama', baseUrl: 'http://127.0.0.1:11434' },
  { name: 'LM Studio', kind: 'openai', baseUrl: 'http://127.0.0.1:1234/v1' },
  { name: 'llama.cpp', kind: 'openai', baseUrl: 'http://127.0.0.1:8080/v1' },
  { name: 'vLLM', kind: 'openai', baseUrl: 'http://127.0.0.1:8000/v1' },
  { name: 'OpenAI', kind: 'openai', baseUrl: 'https://api.openai.com/v1' },
  { name: 'Anthropic', kind: 'anthropic', baseUrl: 'https://api.anthropic.com' },
  { name: 'Google', kind: 'google', baseUrl: 'https://generativelanguage.googleapis.com' },
  { name: 'Mistral', kind: 'openai', baseUrl: 'https://api.mistral.ai/v1' },
  { name: 'Groq', kind: 'openai', baseUrl: 'https://api.groq.com/openai/v1' },
  { name: 'OpenRouter', kind: 'openai', baseUrl: 'https://openrouter.ai/api/v1' },
  { name: 'Azure', kind: 'openai', baseUrl: 'https://YOUR-RESOURCE.openai.azure.com/openai/v1' },
] as const;
