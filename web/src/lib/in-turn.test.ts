import { describe, expect, it } from 'vitest';
import { inTurn } from './in-turn';

describe('things done in turn', () => {
  it('are done a few at a time, and each once, whatever fails', async () => {
    let [running, most, done] = [0, 0, 0];
    const seen: number[] = [];
    const failed = await inTurn(
      [1, 2, 3, 4, 5, 6, 7],
      async (item) => {
        most = Math.max(most, ++running);
        await new Promise((later) => setTimeout(later, 1));
        running--;
        seen.push(item);
        if (item % 3 === 0) throw new Error(`not ${item}`);
      },
      { atOnce: 2, done: () => done++ },
    );
    expect([most, done, seen.toSorted()]).toEqual([2, 7, [1, 2, 3, 4, 5, 6, 7]]);
    expect(failed.map(({ item }) => item)).toEqual([3, 6]);
  });

  it('end when they are stopped', async () => {
    const seen: number[] = [];
    await inTurn([1, 2, 3, 4], async (item) => seen.push(item), {
      atOnce: 1,
      stopped: () => seen.length === 2,
    });
    expect(seen).toEqual([1, 2]);
  });
});
