import type { Settings, Source } from './source';

export const KINDS = ['web', 'git', 's3', 'imap', 'folder'] as const;
export type Kind = (typeof KINDS)[number];
export const SCHEDULES = ['', '900', '3600', '86400', '604800'];
export const WEB_MODES = ['pages', 'sitemap', 'crawl'] as const;

type Common = { name: string; required?: boolean };
/** A control of the form, for one setting of a kind. */
export type Control = Common &
  (
    | { type: 'text' | 'lines' | 'check' }
    | { type: 'number'; min: number; max: number }
    | { type: 'choice'; choices: readonly string[] }
  );

/** The controls of each kind, in their order, with what a new source begins with. */
export const CONTROLS: Record<Kind, (Control & { initial?: string })[]> = {
  folder: [{ name: 'path', type: 'text', required: true }],
  s3: [
    { name: 'bucket', type: 'text', required: true },
    { name: 'prefix', type: 'text' },
    { name: 'endpoint', type: 'text' },
    { name: 'region', type: 'text' },
    { name: 'accessKeyId', type: 'text' },
  ],
  web: [
    { name: 'mode', type: 'choice', choices: WEB_MODES, initial: 'pages' },
    { name: 'addresses', type: 'lines', required: true },
    { name: 'depth', type: 'number', min: 0, max: 20, initial: '3' },
    { name: 'pages', type: 'number', min: 1, max: 100_000, initial: '1000' },
  ],
  git: [
    { name: 'url', type: 'text', required: true },
    { name: 'branch', type: 'text' },
    { name: 'folder', type: 'text' },
    { name: 'username', type: 'text' },
  ],
  imap: [
    { name: 'host', type: 'text', required: true },
    { name: 'port', type: 'number', min: 1, max: 65_535, initial: '993' },
    { name: 'username', type: 'text', required: true },
    { name: 'mailbox', type: 'text', initial: 'INBOX' },
    { name: 'tls', type: 'check', initial: 'true' },
  ],
};

export const HAS_SECRET: Record<Kind, boolean> = {
  folder: false,
  s3: true,
  web: false,
  git: true,
  imap: true,
};

/** What a person has entered, each setting as text. */
export type Draft = { name: string; every: string; texts: Record<string, string> };

/** Returns what the form shows at first: for a new source, or for one that is edited. */
export function draftOf(kind: Kind, source?: Source): Draft {
  const settings = (source?.settings ?? {}) as Record<string, unknown>;
  const texts = CONTROLS[kind].map(({ name, initial = '' }) => [name, textOf(settings[name]) ?? initial]);
  return {
    name: source?.name ?? '',
    every: source ? String(source.every ?? '') : '3600',
    texts: Object.fromEntries(texts),
  };
}

function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return value.join('\n');
  return value === undefined || value === null ? undefined : String(value);
}

/** Returns whether a control is shown: some settings of web pages count only for some ways to find them. */
export function isShown(kind: Kind, name: string, texts: Record<string, string>): boolean {
  if (kind !== 'web') return true;
  if (name === 'depth') return texts.mode === 'crawl';
  return name !== 'pages' || texts.mode !== 'pages';
}

/** Returns the settings for the request. What the form does not show stays as it was. */
export function settingsOf(kind: Kind, texts: Record<string, string>, source?: Source): Settings {
  const settings: Record<string, unknown> = { ...source?.settings, kind };
  for (const { name, type } of CONTROLS[kind]) settings[name] = valueOf(type, texts[name] ?? '');
  return settings as Settings;
}

function valueOf(type: Control['type'], text: string): unknown {
  if (type === 'number') return Number(text);
  if (type === 'check') return text === 'true';
  if (type !== 'lines') return text.trim();
  return text
    .split(/\s+/)
    .map((line) => line.trim())
    .filter(Boolean);
}

/** Returns what is sent of a secret: nothing if it stays, null if it is dropped. */
export function secretOf(typed: string, drops: boolean): { secret?: string | null } {
  if (typed !== '') return { secret: typed };
  return drops ? { secret: null } : {};
}
