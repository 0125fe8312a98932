import type { ConnectionModel, NewConnectionBody } from '$lib/api/types/knowledge';
import { formatNumber, formatShort } from '$lib/format';

const some = (n: number) => (n === 1 ? '1 model' : `${formatNumber(n)} models`);

/** What the screen of models says about connections. */
export const words = {
  title: 'Connections',
  aboutConnections:
    'Servers and vendors whose models answer questions and write for agents. Keys are kept encrypted and never shown.',
  add: 'Add a connection',
  none: 'No connection yet: answers quote your documents. A model that writes can be added here.',
  fromSettings: 'From the settings',
  models: some,
  about: ({ window, parameters, pictures }: ConnectionModel) =>
    [
      window ? `reads ${formatNumber(window)} tokens` : '',
      parameters ? `${formatShort(parameters)} parameters` : '',
      pictures ? 'takes pictures' : '',
    ]
      .filter(Boolean)
      .join(' · '),
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
  refresh: 'Read its models again',
  refreshing: 'Asking it for its models…',
  refreshed: (n: number) => `It has ${some(n)}.`,
  notRefreshed: (why: string) => `Its models could not be read: ${why}`,
  found: (name: string, models: number) => `${name} runs on the server with ${some(models)}.`,
  foundModel: (name: string) => `Model of ${name} that answers`,
  use: 'Use it for answers',
  answers: {
    title: 'Who answers',
    chat: 'Questions',
    agents: 'Agents',
    graph: 'Names connections in documents',
    graphHint: 'Reads every new document once, so the graph says how names are connected.',
    settings: 'As the settings of the server say',
    nobody: 'No model',
    notListed: (model: string) => `${model} (not listed any more)`,
  },
  form: {
    title: 'Add a connection',
    change: (name: string) => `Change ${name}`,
    what: 'What it is',
    local: 'Servers of your own',
    vendors: 'Vendors',
    name: 'Name',
    nameHint: 'What people choose it by.',
    address: 'Address',
    key: 'Key',
    keyHint: 'Empty if the server asks for none.',
    keyKept: 'Empty keeps the stored one. For another server it has to be given again.',
    dropKey: 'Forget the stored key',
    more: (fields: ('name' | 'address' | 'key')[]) => {
      const said = fields.join(' and ');
      return `${said.charAt(0).toUpperCase()}${said.slice(1)}, if needed`;
    },
    submit: 'Connect',
    added: (name: string, models: number) => `${name} is connected, with ${some(models)}.`,
    answersNow: 'It answers questions now, with',
    unreached: (why: string) => `It was added, but its models are not known: ${why}`,
    other: 'Another server with OpenAI’s protocol',
  },
  settingsHint:
    'VENDOR_A_API_KEY and the like connect vendors by the settings of the server; EDGE_AI_MODEL names a larger model that it runs itself.',
};

/** A kind of server that people have: its protocol, its address, and which fields have to be filled in. */
export type Known = Pick<NewConnectionBody, 'name' | 'kind' | 'baseUrl'> & {
  label: string;
  /** Whether it usually runs on a machine of one's own. */
  local?: boolean;
  asks: ('name' | 'address' | 'key')[];
};

const local = (label: string, kind: Known['kind'], baseUrl: string): Known => ({
  label,
  name: label,
  kind,
  baseUrl,
  local: true,
  asks: ['address'],
});
/** `name` where the label alone would mean a provider of the settings. */
const vendor = (label: string, kind: Known['kind'], baseUrl: string, name = label): Known => ({
  label,
  name,
  kind,
  baseUrl,
  asks: ['key'],
});

export const KNOWN: Known[] = [
  local('Ollama', 'ollama', 'http://127.0.0.1:11434'),
  local('LM Studio', 'openai', 'http://127.0.0.1:1234/v1'),
  local('llama.cpp', 'openai', 'http://127.0.0.1:8080/v1'),
  local('vLLM', 'openai', 'http://127.0.0.1:8000/v1'),
  vendor('OpenAI', 'openai', 'https://api.openai.com/v1', 'OpenAI API'),
  vendor('Anthropic', 'anthropic', 'https://api.anthropic.com', 'Anthropic API'),
  vendor('Google', 'google', 'https://generativelanguage.googleapis.com'),
  vendor('Mistral', 'openai', 'https://api.mistral.ai/v1'),
  vendor('Groq', 'openai', 'https://api.groq.com/openai/v1'),
  vendor('OpenRouter', 'openai', 'https://openrouter.ai/api/v1'),
  {
    ...vendor('Azure', 'openai', 'https://YOUR-RESOURCE.openai.azure.com/openai/v1'),
    asks: ['address', 'key'],
  },
];

export const OTHER: Known = {
  label: words.form.other,
  name: '',
  kind: 'openai',
  baseUrl: '',
  asks: ['address', 'key', 'name'],
};
