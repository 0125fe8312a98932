import { expect, test } from 'vitest';
import { suggestions } from './suggestions';

const node = (id: string, type: 'person' | 'organization' | 'concept') => ({
  id,
  label: id.toUpperCase(),
  type,
  documentIds: [],
  documentCount: 1,
  community: 0,
  strength: 1,
});
const edge = (source: string, target: string, strength: number) => ({
  source,
  target,
  type: 'relates_to' as const,
  strength,
});

test('documents are asked about by their titles', () => {
  const questions = suggestions(['Pump manual', 'Report'], null).map(({ question }) => question);
  expect(questions).toEqual([
    'What are the main points of “Pump manual”?',
    'What do “Pump manual” and “Report” have in common, and where do they differ?',
    'Which names, dates and numbers does “Report” give?',
  ]);
  expect(suggestions(['Pump manual'], null)).toHaveLength(2);
  expect(suggestions([], null)).toEqual([]);
});

test('of connected names, the two with the strongest connection are asked about', () => {
  const graph = {
    nodes: [
      node('ada', 'person'),
      node('acme', 'organization'),
      node('bo', 'person'),
      node('oil', 'concept'),
    ],
    edges: [edge('ada', 'oil', 1), edge('ada', 'bo', 0.4), edge('bo', 'acme', 0.7), edge('ada', 'gone', 0.9)],
  };
  expect(suggestions(['T'], graph).map(({ about }) => about)).toEqual(['T', 'BO · ACME', 'T']);
});
