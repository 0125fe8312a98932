import type { Status } from '$lib/ui/Badge.svelte';
import { formatAgo } from '$lib/format';
import { words } from '$words/sources';
import type { Source } from './source';

/** How often a run is looked at, in milliseconds. */
export const POLL = 2000;
/** A timer cannot wait longer. */
const LONGEST_WAIT = 2 ** 31 - 1;

/** Returns whether a source runs, or is about to. */
export function isActive({ status, nextRunAt }: Source, now: number): boolean {
  return status === 'running' || (status !== 'paused' && nextRunAt != null && nextRunAt <= now + 1000);
}

/** Returns after how many milliseconds the list is to be read again; null if nothing is planned. */
export function nextLook(sources: Source[], now: number): number | null {
  if (sources.some((source) => isActive(source, now))) return POLL;
  const planned = sources
    .filter(({ status }) => status !== 'paused')
    .flatMap(({ nextRunAt }) => (nextRunAt == null ? [] : [nextRunAt - now]));
  return planned.length > 0 ? Math.min(LONGEST_WAIT, Math.max(POLL, Math.min(...planned))) : null;
}

const COUNTS = ['added', 'changed', 'removed', 'unchanged', 'skipped', 'failed'] as const;
type Run = NonNullable<Source['lastRun']>;

/** Returns what a run has found, in words: those of its counts that are not zero. */
export function resultOf(run: Pick<Run, (typeof COUNTS)[number]>): string {
  const counted = COUNTS.filter((name) => run[name] > 0).map((name) => words.counts[name](run[name]));
  return counted.join(', ') || words.counts.nothing;
}

/** Returns the state of a source as an icon and a word. */
export function statusOf({ status, lastRun }: Source): Status {
  if (status === 'running') return { tone: 'busy', text: words.status.running };
  if (status === 'failed') return { tone: 'error', text: words.status.failed };
  if (status === 'paused') return { tone: 'warn', text: words.status.paused };
  return lastRun ? { tone: 'ok', text: words.status.waiting } : { tone: 'neutral', text: words.status.never };
}

/** Returns what the last run has done, or the present one so far. */
export function lastRunOf({ status, lastRun }: Source): string {
  if (!lastRun) return status === 'running' ? words.starting : words.neverRan;
  const result = resultOf(lastRun);
  if (status === 'running') return result === words.counts.nothing ? words.starting : words.running(result);
  const ago = formatAgo(lastRun.endedAt ?? lastRun.startedAt);
  return lastRun.error ? words.failedRun(ago, lastRun.error) : words.lastRun(ago, result);
}

/** Returns what a source reads, in short. */
export function placeOf({ settings }: Source): string {
  if (settings.kind === 'folder') return settings.path;
  if (settings.kind === 's3') return [settings.bucket, settings.prefix].filter(Boolean).join('/');
  if (settings.kind === 'git') return [settings.url, settings.branch].filter(Boolean).join(' · ');
  if (settings.kind === 'imap') return `${settings.username} · ${settings.mailbox}`;
  const [first = '', ...others] = settings.addresses;
  return others.length > 0 ? `${first} +${others.length}` : first;
}
