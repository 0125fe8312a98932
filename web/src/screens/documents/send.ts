import { type Answer, sendForm } from '$lib/api/send-form';

export type { Answer };

/** Sends a file, which becomes a document. */
export function sendFile(
  { file, folder, spaceId }: { file: File; folder: string; spaceId: string },
  onSent: (bytes: number) => void,
): { answer: Promise<Answer>; stop: () => void } {
  const form = new FormData();
  if (folder) form.set('metadata', JSON.stringify({ folder }));
  if (spaceId) form.set('spaceId', spaceId);
  form.set('sameName', 'replace');
  form.set('file', file, file.name);
  return sendForm('/api/ingest', form, file.size, onSent);
}
