import type { Service } from '../address';
import type { Failure } from './failure';
import { follow, type StreamEvent } from './stream';

type Sharing = {
  /** Tabs that give the same name share one stream. */
  name: string;
  service: Service;
  path: (lastEventId: string | null) => string;
  onEvent: (event: StreamEvent) => void;
  /** Called if events may have been missed, and once at the start: what was read before has to be read again. */
  onRestart: () => void;
  /** Called as the connection is made or lost, with what is wrong. */
  onState: (trouble: string | null) => void;
};

type Message =
  | { kind: 'event'; event: StreamEvent }
  | { kind: 'state'; trouble: string | null }
  | { kind: 'restart' }
  | { kind: 'ask' }
  | { kind: 'last'; id: string | null };

/**
 * Follows a stream of events that all tabs of the browser share: browsers allow six connections per origin, and a stream
 * in every tab would use them up. The tab that has the lock reads the stream and passes the events on; if it closes, the
 * next one takes over from the last event. Plain http has no locks: there each tab has a stream of its own.
 *
 * Returns a function that ends it.
 */
export function followShared(sharing: Sharing): () => void {
  const alone = !globalThis.navigator?.locks || !('BroadcastChannel' in globalThis);
  return alone ? followAlone(sharing, null, () => {}) : followTogether(sharing);
}

function followTogether(sharing: Sharing): () => void {
  const channel = new BroadcastChannel(sharing.name);
  const closed = new AbortController();
  let leads = false;
  let lastId: string | null = null;
  let stop = () => {};

  const tell = (message: Message) => !closed.signal.aborted && channel.postMessage(message);
  const ask = () => document.visibilityState === 'visible' && !leads && tell({ kind: 'ask' });
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'event') {
      lastId = data.event.id ?? lastId;
      sharing.onEvent(data.event);
    } else if (data.kind === 'state') sharing.onState(data.trouble);
    else if (data.kind === 'restart') sharing.onRestart();
    else if (data.kind === 'ask' && leads) tell({ kind: 'last', id: lastId });
    else if (data.kind === 'last') {
      // Messages arrive in order: a difference means that this tab was asleep while some were sent, or is new.
      if (data.id !== lastId) sharing.onRestart();
      lastId = data.id;
    }
  };
  document.addEventListener('visibilitychange', ask);
  sharing.onRestart();
  ask();

  const lead = () =>
    new Promise<void>((release) => {
      leads = true;
      const end = followAlone(
        { ...sharing, ...relayed(sharing, tell, (id) => (lastId = id ?? lastId)) },
        lastId,
        release,
      );
      stop = () => {
        end();
        release();
      };
    });
  navigator.locks.request(sharing.name, { signal: closed.signal }, lead).catch(() => null);
  return () => {
    closed.abort();
    stop();
    channel.close();
    document.removeEventListener('visibilitychange', ask);
  };
}

/** What the leading tab does with the stream: the same as it would alone, and it tells the others. */
function relayed(sharing: Sharing, tell: (message: Message) => void, note: (id: string | null) => void) {
  return {
    onEvent: (event: StreamEvent) => {
      note(event.id);
      tell({ kind: 'event', event });
      sharing.onEvent(event);
    },
    onRestart: () => {
      tell({ kind: 'restart' });
      sharing.onRestart();
    },
    onState: (trouble: string | null) => {
      tell({ kind: 'state', trouble });
      sharing.onState(trouble);
    },
  };
}

/** Follows the stream in this tab. `ended` is called if it ends for good, as with the session. */
function followAlone(sharing: Sharing, lastEventId: string | null, ended: () => void): () => void {
  let seen = lastEventId;
  return follow({
    service: sharing.service,
    path: sharing.path,
    lastEventId,
    onEvent: (event) => {
      seen = event.id ?? seen;
      sharing.onEvent(event);
    },
    onState: (trouble: Failure | null) => {
      sharing.onState(trouble?.message ?? null);
      // Without an id to resume from, what happened since the last connection is unknown.
      if (trouble === null && seen === null) sharing.onRestart();
    },
    onEnd: (trouble) => {
      sharing.onState(trouble?.message ?? null);
      ended();
    },
  });
}
