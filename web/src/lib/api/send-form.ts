import { address } from '$lib/address';

/** What became of a request: an answer, no answer, or it was stopped. */
export type Answer =
  | { kind: 'answered'; response: Response; body: string }
  | { kind: 'failed'; error: unknown }
  | { kind: 'stopped' };

/** Sends a form with a file, and tells how many of its bytes are sent: `fetch` cannot, so this is an `XMLHttpRequest`. */
export function sendForm(
  path: string,
  form: FormData,
  size: number,
  onSent: (bytes: number) => void,
): { answer: Promise<Answer>; stop: () => void } {
  const request = new XMLHttpRequest();
  const answer = new Promise<Answer>((done) => {
    request.upload.onprogress = ({ loaded }) => onSent(Math.min(loaded, size));
    request.upload.onload = () => onSent(size);
    request.onload = () => {
      const headers = new Headers({ 'Retry-After': request.getResponseHeader('Retry-After') ?? '' });
      const requestId = request.getResponseHeader('X-Request-Id');
      if (requestId) headers.set('X-Request-Id', requestId);
      done({
        kind: 'answered',
        response: new Response(null, { status: request.status, headers }),
        body: request.responseText,
      });
    };
    request.onerror = () => done({ kind: 'failed', error: new TypeError('no answer') });
    request.onabort = () => done({ kind: 'stopped' });
  });
  request.open('POST', address('core', path));
  request.setRequestHeader('Prefer', 'respond-async');
  request.send(form);
  return { answer, stop: () => request.abort() };
}
