import { knowledge, ok } from './api/client';
import type { BudgetBody, BudgetList, OwnUsage, PriceTable, UsageView } from './api/types/knowledge';

/** What the calls of a row have in common, in the order in which it is offered. */
export const GROUPINGS = ['model', 'connection', 'user', 'project', 'space', 'purpose', 'day'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** What was used of models, what that costs, and what may be used. */
export const usage = {
  of: (from: number, by: Grouping): Promise<UsageView> =>
    ok(knowledge.GET('/api/usage', { params: { query: { from, by } } })),
  prices: (): Promise<PriceTable> => ok(knowledge.GET('/api/usage/prices')),
  setPrices: (body: PriceTable): Promise<PriceTable> => ok(knowledge.PUT('/api/usage/prices', { body })),
  budgets: (): Promise<BudgetList> => ok(knowledge.GET('/api/usage/budgets')),
  setBudgets: (budgets: BudgetBody[]): Promise<BudgetList> =>
    ok(knowledge.PUT('/api/usage/budgets', { body: { budgets } })),
  mine: (): Promise<OwnUsage> => ok(knowledge.GET('/api/usage/mine')),
};
