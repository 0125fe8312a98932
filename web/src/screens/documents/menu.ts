import { address } from '$lib/address';
import type { Document } from '$lib/documents.svelte';
import { href, router } from '$lib/router.svelte';
import { spaces } from '$lib/spaces/spaces.svelte';
import type { Action } from '$lib/ui/Menu.svelte';
import { words } from '$words/documents';
import CalendarClock from '@lucide/svelte/icons/calendar-clock';
import CircleX from '@lucide/svelte/icons/circle-x';
import Copy from '@lucide/svelte/icons/copy';
import ExternalLink from '@lucide/svelte/icons/external-link';
import FolderInput from '@lucide/svelte/icons/folder-input';
import History from '@lucide/svelte/icons/history';
import MessageCircle from '@lucide/svelte/icons/message-circle';
import RotateCw from '@lucide/svelte/icons/rotate-cw';
import Search from '@lucide/svelte/icons/search';
import Trash from '@lucide/svelte/icons/trash-2';
import Waypoints from '@lucide/svelte/icons/waypoints';
import { actions, canRetry, path } from './actions.svelte';
import { obstacle, transfer } from './transfer.svelte';

/** Returns the menu of a document. Readers of a space do not see what only its editors may do. */
export function menuOf(document: Document): Action[] {
  const mayEdit = spaces.mayEdit(document.spaceId);
  return [
    {
      label: words.actions.open,
      icon: ExternalLink,
      run: () => open(address('core', `${path(document.id)}/content`), '_blank', 'noopener'),
    },
    ...(document.status === 'indexed'
      ? [
          {
            label: words.actions.ask,
            icon: MessageCircle,
            href: href('/chat', { document: document.id }),
          },
          { label: words.actions.search, icon: Search, href: href('/search', { documentId: document.id }) },
          { label: words.actions.graph, icon: Waypoints, href: href('/graph', { document: document.id }) },
        ]
      : []),
    {
      label: words.actions.versions,
      icon: History,
      run: () => router.setQuery({ versions: document.id }, { replace: false }),
    },
    ...(mayEdit && obstacle(document) === null
      ? [
          {
            label: words.actions.move,
            icon: FolderInput,
            run: () => transfer.ask('move', [document]),
          },
        ]
      : []),
    { label: words.actions.copy, icon: Copy, run: () => transfer.ask('copy', [document]) },
    ...(mayEdit ? changesOf(document) : []),
  ];
}

function changesOf(document: Document): Action[] {
  const again = document.status === 'error' ? words.actions.retry : words.actions.reindex;
  return [
    {
      label: words.actions.expiry,
      icon: CalendarClock,
      run: () => router.setQuery({ expiry: document.id }, { replace: false }),
    },
    ...(document.status === 'processing'
      ? [{ label: words.actions.cancel, icon: CircleX, run: () => void actions.cancel(document) }]
      : document.status === 'indexed' || canRetry(document)
        ? [{ label: again, icon: RotateCw, run: () => void actions.reindex(document) }]
        : []),
    { label: words.actions.delete, icon: Trash, danger: true, run: () => actions.delete(document) },
  ];
}
