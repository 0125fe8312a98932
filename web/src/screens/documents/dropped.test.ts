import { expect, test } from 'vitest';
import { droppedFiles } from './dropped';

type Tree = { [name: string]: Tree | string };

/** A folder that returns its children in batches, as browsers do. */
function entry(name: string, content: Tree | string): unknown {
  if (typeof content === 'string') {
    return {
      name,
      isFile: true,
      isDirectory: false,
      file: (done: (file: File) => void) => done(new File([content], name)),
    };
  }
  const children = Object.entries(content).map(([name, content]) => entry(name, content));
  const createReader = () => {
    const left = [...children];
    return { readEntries: (done: (batch: unknown[]) => void) => done(left.splice(0, 2)) };
  };
  return { name, isFile: false, isDirectory: true, createReader };
}

test('a drop is read with its nested folders, without hidden files', async () => {
  const tree: Tree = {
    'a.md': 'a',
    papers: {
      'b.md': 'b',
      '.git': { x: 'x' },
      '.DS_Store': '',
      old: { 'c.md': 'c', 'd.md': 'd', 'e.md': 'e' },
    },
  };
  const items = Object.entries(tree).map(([name, content]) => ({
    kind: 'file',
    webkitGetAsEntry: () => entry(name, content),
  }));
  const found = await droppedFiles({ items: [...items, { kind: 'string' }] } as unknown as DataTransfer);
  expect(found.map(({ file, folder }) => `${folder}/${file.name}`)).toEqual([
    '/a.md',
    'papers/b.md',
    'papers/old/c.md',
    'papers/old/d.md',
    'papers/old/e.md',
  ]);
});
