import { formatDate, formatDuration, formatMoney, formatNumber } from '$lib/format';
import type { Grouping } from '$lib/usage';
import type { UsageSums as Sums, Used } from '$lib/api/types/knowledge';

const tokens = (n: number) => (n === 1 ? '1 token' : `${formatNumber(n)} tokens`);
/** A day of UTC, as a date everywhere. */
const day = (day: string) => formatDate(`${day}T00:00`);

/** What is said of the use of models: by administrators, and of one's own. */
export const words = {
  title: 'Use of models',
  by: 'Grouped',
  byGrouping: {
    model: 'By model',
    connection: 'By connection',
    user: 'By user',
    project: 'By project',
    space: 'By space',
    purpose: 'By purpose',
    day: 'By day',
  } satisfies Record<Grouping, string>,
  groupings: {
    model: 'Model',
    connection: 'Connection',
    user: 'User',
    project: 'Project',
    space: 'Space',
    purpose: 'Purpose',
    day: 'Day',
  } satisfies Record<Grouping, string>,
  purposes: {
    chat: 'Questions',
    agents: 'Agents',
    graph: 'Connections in documents',
    goals: 'Goals',
    test: 'Tests of connections',
    api: 'Other programs',
  } as Record<string, string>,
  /** Keys that are no ids. */
  special: {
    guests: 'Guests of projects',
    local: 'Programs on the server',
  } as Record<string, string>,
  nobody: { space: 'In no space', project: 'In no project' } as Partial<Record<Grouping, string>>,
  unnamed: 'Without a name',
  period: 'Period',
  days: (n: number) => (n === 1 ? 'Today' : n === 365 ? 'The last year' : `The last ${n} days`),
  today: 'Today',
  day,
  csv: 'All calls as CSV',
  none: 'No model was asked in this time.',
  table: 'Sums',
  sum: 'Sum',
  more: (shown: number, all: number) =>
    `The first ${formatNumber(shown)} of ${formatNumber(all)} rows. The file has every call.`,
  columns: {
    calls: 'Calls',
    input: 'Input tokens',
    output: 'Output tokens',
    time: 'Time',
    cost: 'Cost',
  },
  money: formatMoney,
  totals: (sums: Sums, currency: string) => [
    { name: 'Calls', value: formatNumber(sums.calls) },
    { name: 'Input tokens', value: formatNumber(sums.inputTokens) },
    { name: 'Output tokens', value: formatNumber(sums.outputTokens) },
    { name: 'Cost', value: formatMoney(sums.cost, currency) },
  ],
  chart: {
    label: (days: number, most: string, when: string) =>
      `Tokens on each of ${formatNumber(days)} days; most of them, ${most}, on ${when}`,
    most: (most: string) => `${most} tokens`,
    input: 'Input',
    output: 'Output',
    day: (when: string, sums: Sums, currency: string) =>
      `${day(when)}: ${tokens(sums.inputTokens)} of input, ${tokens(sums.outputTokens)} of output, ${formatMoney(sums.cost, currency)}, ${formatDuration(sums.seconds * 1000)}`,
  },
  saved: 'Saved.',
  prices: {
    title: 'Prices',
    about:
      'What models cost for a million tokens. They count for calls from now on: what earlier ones have cost stays.',
    currency: 'Currency',
    currencyHint: 'Three capital letters, such as USD',
    model: 'Model',
    connection: 'Connection',
    any: 'Any',
    input: 'Input',
    output: 'Output',
    hint: 'A * at the end of a name stands for all models whose names begin so. The most specific price counts.',
    add: 'Add a price',
    remove: (model: string) => (model ? `Remove the price of ${model}` : 'Remove this price'),
    save: 'Save the prices',
  },
  budgets: {
    title: 'Budgets of a day',
    about:
      'What may be used of models on a day, in UTC. When it is used up, questions are refused until the next day. The embedded model does not count.',
    none: 'No budget: nothing is limited.',
    whom: 'Whom it limits',
    all: 'All together',
    eachUser: 'Each user without one of their own',
    eachProject: 'Each project without one of its own',
    users: 'One user',
    projects: 'One project',
    tokens: 'Tokens',
    cost: (currency: string) => `Cost in ${currency}`,
    unlimited: 'No limit',
    used: (used: Used, currency: string) =>
      `Used today: ${tokens(used.tokens)}, ${formatMoney(used.cost, currency)}`,
    add: 'Add a budget',
    remove: 'Remove this budget',
    save: 'Save the budgets',
  },
  mine: {
    title: 'Models today',
    about: (until: string) => `What you have used of models today. It counts anew from ${until}.`,
    tokens: 'Tokens',
    cost: 'Cost',
    of: (used: string, limit: string) => `${used} of ${limit}`,
    share: (what: string) => `Used: ${what}`,
    number: formatNumber,
    money: formatMoney,
  },
};
