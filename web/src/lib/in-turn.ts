/** Does something with each item, so many at the same time, until it is stopped. Calls back after each that is done. */
export async function inTurn<T>(
  items: T[],
  work: (item: T) => Promise<unknown>,
  { atOnce = 3, done = () => {}, stopped = () => false }: InTurn = {},
): Promise<Failed<T>[]> {
  const waiting = [...items];
  const failed: Failed<T>[] = [];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined && !stopped(); item = waiting.shift()) {
      const doing = item;
      await work(doing).catch((error: unknown) => failed.push({ item: doing, error }));
      done();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return failed;
}

type InTurn = { atOnce?: number; done?: () => void; stopped?: () => boolean };

/** An item that something could not be done with, and why. */
export type Failed<T> = { item: T; error: unknown };
