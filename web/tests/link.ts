/* A network between the browser and the program that a test can cut, as on a train. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Program } from './harness';

export type Link = { page: string; cut: () => void; mend: () => void; stop: () => void };

export async function startLink({ gateway }: Program): Promise<Link> {
  const { hostname, port } = new URL(gateway);
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) return client.destroy();
    const service = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, service],
      [service, client],
    ] as const) {
      open.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => open.delete(from) && to.destroy());
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const cut = () => {
    isCut = true;
    for (const socket of open) socket.destroy();
  };
  return {
    page: `http://127.0.0.1:${(server.address() as AddressInfo).port}/kv/`,
    cut,
    mend: () => (isCut = false),
    stop: () => {
      cut();
      server.close();
    },
  };
}
