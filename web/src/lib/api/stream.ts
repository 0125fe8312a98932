import { createParser } from 'eventsource-parser';
import type { Service } from '../address';
import { request } from './client';
import { type Failure, failure, failureOf } from './failure';

export type StreamEvent = { event: string; id: string | null; data: unknown };

/** Reads the events of an answer, with their JSON data parsed. */
export async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  const ready: StreamEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, id, data }) =>
      ready.push({ event: event ?? 'message', id: id ?? null, data: JSON.parse(data) }),
  });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(value);
      yield* ready.splice(0);
    }
  } finally {
    void reader.cancel().catch(() => null);
  }
}

type Following = {
  service: Service;
  /** The path to follow from, given the id of the last event seen. */
  path: (lastEventId: string | null) => string;
  /** Takes an event. Returning `end` closes the stream for good. */
  onEvent: (event: StreamEvent) => void | 'end';
  /** Called as the connection is made or lost; the failure is null while all is well. */
  onState?: (failure: Failure | null) => void;
  /** Called if the stream ends for good: after `end`, a 204, or a 4xx. */
  onEnd?: (failure: Failure | null) => void;
  /** The first request, if it is no GET: reconnections are GETs of `path`. */
  first?: { path: string; init: RequestInit };
  lastEventId?: string | null;
};

/** A stream without a byte for this long is taken for dead: services send a comment every 15 s. */
const SILENCE = 40_000;

/**
 * Follows a stream of events across interruptions: reconnects with backoff, and at once if the browser comes online or
 * the page becomes visible. Returns a function that ends it.
 */
export function follow(following: Following): () => void {
  const ended = new AbortController();
  let lastEventId = following.lastEventId ?? null;
  let first = following.first ?? null;
  let attempt = 0;
  let connection = new AbortController();
  let wake = () => {};

  const finish = (reason: Failure | null) => {
    if (ended.signal.aborted) return;
    stop();
    following.onEnd?.(reason);
  };
  const resume = () => {
    if (document.visibilityState === 'hidden') return;
    attempt = 0;
    wake();
  };
  const stop = () => {
    ended.abort();
    connection.abort();
    wake();
    removeEventListener('online', resume);
    document.removeEventListener('visibilitychange', resume);
  };
  addEventListener('online', resume);
  document.addEventListener('visibilitychange', resume);

  void (async () => {
    while (!ended.signal.aborted) {
      connection = new AbortController();
      try {
        const headers = { Accept: 'text/event-stream' };
        const response = first
          ? await request(following.service, first.path, { ...first.init, signal: connection.signal })
          : await request(following.service, following.path(lastEventId), {
              headers,
              signal: connection.signal,
            });
        if (response.status === 204) return finish(null);
        if (!response.ok) throw await failureOf(response);
        first = null;
        attempt = 0;
        following.onState?.(null);
        for await (const event of eventsOf(watched(response, connection))) {
          if (event.id) lastEventId = event.id;
          if (following.onEvent(event) === 'end') return finish(null);
          if (ended.signal.aborted) return;
        }
      } catch (thrown) {
        if (ended.signal.aborted) return;
        const reason = failure(thrown);
        // A first request may have had its effect: it is not sent twice.
        if (reason.final || first) return finish(reason);
        following.onState?.(reason);
      }
      const pause = Math.min(15_000, 500 * 2 ** attempt++) * (0.75 + Math.random() / 2);
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, pause);
      });
    }
  })();
  return stop;
}

/** Breaks a connection off that is silent for too long, as after a computer's sleep. */
function watched(response: Response, connection: AbortController): Response {
  let timer = setTimeout(() => connection.abort(), SILENCE);
  const watch = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, out) {
      clearTimeout(timer);
      timer = setTimeout(() => connection.abort(), SILENCE);
      out.enqueue(bytes);
    },
    flush: () => clearTimeout(timer),
  });
  return new Response(response.body!.pipeThrough(watch), response);
}
