import type { Artifact } from '$lib/api/types/supervisor';

const ENDINGS = { markdown: 'md', json: 'json', code: 'txt' } as const;
const TYPES = { markdown: 'text/markdown', json: 'application/json', code: 'text/plain' } as const;

/** Returns the name under which an artifact is saved: `prd-analyst.v2.md`. */
export function fileName({
  phase,
  agent,
  version,
  type,
}: Pick<Artifact, 'phase' | 'agent' | 'version' | 'type'>): string {
  return `${plain(phase)}-${plain(agent)}.v${version}.${ENDINGS[type]}`;
}

export function asFile({ type, content }: Pick<Artifact, 'type' | 'content'>): Blob {
  return new Blob([content], { type: `${TYPES[type]};charset=utf-8` });
}

/** Returns the name that the server gives a file, or another one. */
export function nameFrom(disposition: string | null, otherwise: string): string {
  return /filename="([^"\\/]+)"/.exec(disposition ?? '')?.[1] ?? otherwise;
}

/** Returns JSON with a member in each line; null if the text is not JSON. */
export function prettyJson(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}

const plain = (name: string) => name.replace(/[^A-Za-z0-9-]+/g, '-');
