import type { Trace } from '$lib/api/types/supervisor';

/** An execution of an agent as a bar: start and width in percent of the whole. */
export type Bar = { trace: Trace; start: number; width: number; duration: number };

export type Timeline = { from: number; length: number; bars: Bar[] };

/** Places executions on a common line of time, from the first start to the last end, or to now if one still runs. */
export function timeline(traces: Trace[], now: number): Timeline {
  const spans = traces
    .map((trace) => {
      const start = Date.parse(trace.started_at ?? trace.created_at);
      const end = trace.ended_at
        ? Date.parse(trace.ended_at)
        : trace.status === 'running'
          ? Math.max(now, start)
          : start;
      return { trace, start, end };
    })
    .sort((a, b) => a.start - b.start);
  const from = Math.min(...spans.map(({ start }) => start));
  // At least a millisecond, so that nothing is divided by 0.
  const length = Math.max(1, Math.max(...spans.map(({ end }) => end)) - from);
  const bars = spans.map(({ trace, start, end }) => ({
    trace,
    start: ((start - from) / length) * 100,
    width: ((end - start) / length) * 100,
    duration: trace.duration_ms ?? end - start,
  }));
  return { from, length, bars };
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400].map(
  (seconds) => seconds * 1000,
);

/** Returns round times, in milliseconds from the start, at which the line gets a mark: at most six. */
export function marks(length: number): number[] {
  const step = STEPS.find((one) => length / one <= 6) ?? Math.ceil(length / 6);
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step);
}

export function tokens(traces: Trace[]): { read: number; written: number } {
  const sum = (key: 'input_tokens' | 'output_tokens') =>
    traces.reduce((total, trace) => total + (trace[key] ?? 0), 0);
  return { read: sum('input_tokens'), written: sum('output_tokens') };
}
