/** Names of phases and agents as people read them: `prd-critic` is "PRD critic". */

const ABBREVIATIONS = new Set(['api', 'prd', 'qa', 'ui', 'ux']);

export function readable(name: string): string {
  const parts = name.split('-').map((part) => (ABBREVIATIONS.has(part) ? part.toUpperCase() : part));
  const text = parts.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const list = new Intl.ListFormat('en', { type: 'conjunction' });

export function readableList(names: string[]): string {
  return list.format(names.map(readable));
}
