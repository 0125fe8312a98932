/** Names of phases and agents as people read them: `prd-critic` is "Requirements critic". */

const ABBREVIATIONS = new Set(['api', 'qa', 'ui', 'ux']);
/** Not all readers know what a PRD is. */
const PLAIN: Record<string, string> = { prd: 'requirements' };

export function readable(name: string): string {
  const parts = name
    .split('-')
    .map((part) => (ABBREVIATIONS.has(part) ? part.toUpperCase() : (PLAIN[part] ?? part)));
  const text = parts.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const list = new Intl.ListFormat('en', { type: 'conjunction' });

export function readableList(names: string[]): string {
  return list.format(names.map(readable));
}
