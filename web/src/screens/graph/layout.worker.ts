/*
 * Arranges the nodes off the main thread. A module of our own, because the one that comes with the library is started
 * from a Blob, which the Content-Security-Policy forbids.
 */
import { arrange, type Layout, positionsOf } from './layout';

/** Time between two sets of positions, in milliseconds. */
const PAUSE = 150;
/** A slow computer gets a rougher layout rather than a later one. */
const MOST_TIME = 8000;

export type Arranged = { positions: Float32Array; done: boolean };

self.onmessage = ({ data }: MessageEvent<Layout>) => {
  const post = (done: boolean) => {
    const positions = positionsOf(data.nodes);
    self.postMessage({ positions, done } satisfies Arranged, { transfer: [positions.buffer] });
  };
  const end = performance.now() + MOST_TIME;
  let last = performance.now();
  arrange(data, () => {
    if (performance.now() - last >= PAUSE) {
      post(false);
      last = performance.now();
    }
    return performance.now() < end;
  });
  post(true);
};
