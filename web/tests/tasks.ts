/* How much the page's main thread works at a time. */
import type { Browser, Page } from 'playwright-core';

type TraceEvent = {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  tdur?: number;
  args?: { name?: string };
};

/**
 * Returns the processor time of the longest task on the main thread while `action` runs, in milliseconds. Time in which
 * the machine is busy with other programs does not count, so the figure means the same everywhere.
 */
export async function longestTask(
  browser: Browser,
  page: Page,
  action: () => Promise<unknown>,
): Promise<number> {
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  let trace: Buffer;
  try {
    await action();
  } finally {
    trace = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] };
  const thread = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const main = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(thread),
  );
  const tasks = traceEvents.filter((event) => event.name.endsWith('RunTask') && main.has(thread(event)));
  const longest = Math.max(0, ...tasks.map(({ tdur }) => (tdur ?? 0) / 1000));
  if (longest === 0) throw new Error('the trace has no times of tasks');
  return longest;
}
