import type { UsageRow, UsageSums as Sums } from '$lib/api/types/knowledge';

const DAY = 86_400_000;

/** Returns when the period of so many days began that ends today, in UTC. */
export function startOf(days: number, now: number): number {
  return Math.floor(now / DAY) * DAY - (days - 1) * DAY;
}

export type Day = { day: string; sums: Sums };
const NOTHING: Sums = { calls: 0, inputTokens: 0, outputTokens: 0, seconds: 0, cost: 0 };

/** Returns each day of a period with what was used, also those on which nothing was. */
export function everyDay(rows: UsageRow[], from: number, to: number): Day[] {
  const used = new Map(rows.map((row) => [row.key, row]));
  const days: Day[] = [];
  for (let at = from; at < to; at += DAY) {
    const day = new Date(at).toISOString().slice(0, 10);
    days.push({ day, sums: used.get(day) ?? NOTHING });
  }
  return days;
}
