/* A vendor of models for tests: speaks OpenAI's chat completions, and writes what and how fast the test wants. */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Vendor = {
  url: string;
  /** What an agent writes, by its name, which is the first word of its prompt. `null` makes the vendor refuse. */
  texts: Record<string, string | null>;
  /** Milliseconds between two words. */
  pause: number;
  /** What agents were asked, newest last. */
  asked: string[];
  /** Breaks off all answers that are being written. */
  fail: () => void;
  stop: () => Promise<void>;
};

export async function startVendor(): Promise<Vendor> {
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes) => (body += bytes));
    request.on('end', () =>
      request.method === 'GET' ? list(response) : void answer(vendor, body, response),
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const vendor: Vendor = {
    url: `http://127.0.0.1:${port}/v1`,
    texts: {},
    pause: 0,
    asked: [],
    fail: () => server.closeAllConnections(),
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  return vendor;
}

function list(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ object: 'list', data: [{ id: 'writer' }, { id: 'other' }] }));
}

async function answer(vendor: Vendor, body: string, response: ServerResponse): Promise<void> {
  const { messages } = JSON.parse(body) as { messages: { role: string; content: string }[] };
  vendor.asked.push(messages.map(({ content }) => content).join('\n'));
  const agent = messages[0]!.content.trim().split(/\s/)[0]!;
  const text = vendor.texts[agent];
  if (text === null) {
    response.writeHead(400, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ error: { message: 'the vendor does not like this question' } }));
    return;
  }
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  const send = (choices: object[], more: object = {}) =>
    response.write(`data: ${JSON.stringify({ id: 'x', choices, ...more })}\n\n`);
  for (const word of (text ?? `Text of ${agent}.`).split(/(?<=\s)/)) {
    if (response.destroyed) return;
    send([{ index: 0, delta: { content: word }, finish_reason: null }]);
    if (vendor.pause > 0) await new Promise((done) => setTimeout(done, vendor.pause));
  }
  send([{ index: 0, delta: {}, finish_reason: 'stop' }]);
  send([], { usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 } });
  response.end('data: [DONE]\n\n');
}
