import { FIELDS, type Entry, type Field, type Kind } from './kinds';

/** What a form holds: texts, and true or false. Two versions of an entry are compared in this shape. */
export type Values = Record<string, string | boolean>;

/** Returns the values of an entry, or those of a new one. */
export function valuesOf(kind: Kind, entry?: Entry): Values {
  const known = entry as Record<string, unknown> | undefined;
  return Object.fromEntries(FIELDS[kind].map((field) => [field.name, toValue(field, known?.[field.name])]));
}

function toValue({ kind }: Field, value: unknown): string | boolean {
  if (kind === 'flag') return value === true;
  if (value === null || value === undefined) return '';
  if (kind === 'tags') return (value as string[]).join(', ');
  if (kind === 'date') return localDate(value as number);
  return String(value);
}

function localDate(time: number): string {
  const date = new Date(time);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Returns what is sent for a value: null takes a value away. */
function toSent({ kind, required }: Field, value: string | boolean): unknown {
  if (kind === 'flag') return value;
  const text = String(value).trim();
  if (kind === 'tags')
    return text
      .split(',')
      .map((tag) => tag.trim())
      .filter(Boolean);
  if (text === '') return required ? '' : null;
  if (kind === 'percent') return Number(text);
  if (kind === 'date') return new Date(`${text}T00:00:00`).getTime();
  return text;
}

/** Returns a merge patch with the fields in which two versions differ. */
export function changes(kind: Kind, base: Values, values: Values): Record<string, unknown> {
  const changed = FIELDS[kind].filter(({ name }) => base[name] !== values[name]);
  return Object.fromEntries(changed.map((field) => [field.name, toSent(field, values[field.name] ?? '')]));
}

/** Returns the body of a new entry: the fields that were filled in. */
export function newEntry(kind: Kind, values: Values): Record<string, unknown> {
  const sent = FIELDS[kind].map((field) => [field.name, toSent(field, values[field.name] ?? '')] as const);
  return Object.fromEntries(sent.filter(([, value]) => value !== null));
}

export type Side = 'theirs' | 'yours';
/** A field that two people left with different values. `kept` is what only one of them changed, or theirs. */
export type Difference = { name: string; theirs: string | boolean; yours: string | boolean; kept: Side };

/** Compares two versions that were made from the same one. */
export function differences(kind: Kind, base: Values, theirs: Values, yours: Values): Difference[] {
  return FIELDS[kind]
    .map(({ name }) => ({ name, theirs: theirs[name]!, yours: yours[name]! }))
    .filter((field) => field.theirs !== field.yours)
    .map((field) => ({ ...field, kept: field.theirs === base[field.name] ? 'yours' : ('theirs' as Side) }));
}

/** Returns the version that a choice makes. */
export function chosen(theirs: Values, fields: Difference[]): Values {
  const yours = fields.filter(({ kept }) => kept === 'yours').map(({ name, yours }) => [name, yours]);
  return { ...theirs, ...Object.fromEntries(yours) };
}
