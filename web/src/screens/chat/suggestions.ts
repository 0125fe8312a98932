import type { Graph } from '$lib/api/types/knowledge';
import { words } from '$words/chat';

/** A question that can be asked: what kind it is, what it is about, and its text. */
export type Suggestion = { label: string; about: string; question: string };

type Names = Pick<Graph, 'nodes' | 'edges'>;

/** Kinds of nodes that are names. Concepts are too general to ask how they are connected. */
const NAMES = ['person', 'organization', 'place', 'event'];

/** Returns questions about documents by their titles, and about names that they mention together. */
export function suggestions(titles: string[], graph: Names | null): Suggestion[] {
  const { points, facts, compared, connection } = words.empty;
  const [first, second, third] = titles;
  const pair = graph && connected(graph);
  const found: Suggestion[] = [];
  if (first) found.push({ label: points.label, about: first, question: points.question(first) });
  if (pair)
    found.push({ label: connection.label, about: pair.join(' · '), question: connection.question(...pair) });
  if (first && second) {
    const about = `${first} · ${second}`;
    found.push({ label: compared.label, about, question: compared.question(first, second) });
  }
  const last = third ?? second ?? first;
  if (last) found.push({ label: facts.label, about: last, question: facts.question(last) });
  return found;
}

/** Returns the two names with the strongest connection. */
function connected({ nodes, edges }: Names): [string, string] | null {
  const names = new Map(nodes.filter(({ type }) => NAMES.includes(type)).map(({ id, label }) => [id, label]));
  const [strongest] = edges
    .filter(({ source, target }) => source !== target && names.has(source) && names.has(target))
    .sort((a, b) => b.strength - a.strength);
  return strongest ? [names.get(strongest.source)!, names.get(strongest.target)!] : null;
}
