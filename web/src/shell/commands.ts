import { href, router } from '$lib/router.svelte';
import { session } from '$lib/session.svelte';
import { spaces } from '$lib/spaces/spaces.svelte';
import { theme } from '$lib/theme.svelte';
import { words as admin } from '$words/admin';
import { words } from '$words/shell';
import type { Found } from './find';

/** Something that the box does, rather than opens. */
export type Command = Found & { run?: () => void };

const { commands } = words.palette;

/** Asks for files, or a folder, while the screen that shows them opens. */
async function addFiles(folder: boolean): Promise<void> {
  const { uploads } = await import('../screens/documents/uploads.svelte');
  const spaceId = router.parts[0] === 'documents' ? (router.query.get('spaceId') ?? '') : '';
  await uploads.choose({ folder, spaceId: spaces.mayEdit(spaceId) ? spaceId : '' });
}

/** Returns what the user may do, in the order in which it is shown. */
export function allCommands(showShortcuts: () => void): Command[] {
  const command = (key: keyof typeof commands, target: string, run?: () => void): Command => ({
    group: words.palette.groups.commands,
    key: `command ${key}`,
    title: commands[key],
    href: target,
    run,
  });
  const here = location.hash || '#/';
  const choosing = router.parts[0] === 'documents' ? here : href('/documents');
  return [
    command('conversation', href('/chat')),
    command('project', href(['projects', 'new'])),
    command('files', choosing, () => void addFiles(false)),
    command('folder', choosing, () => void addFiles(true)),
    command('source', href('/documents/sources', { new: 'choose' })),
    ...(spaces.mayCreate ? [command('space', href('/spaces', { new: '1' }))] : []),
    ...(session.admin ? [command('user', href(['admin', 'users'], { new: '1' })), ...administration()] : []),
    ...(['auto', 'light', 'dark'] as const).map((name) => ({
      ...command('conversation', here, () => (theme.value = name)),
      key: `theme ${name}`,
      title: `${words.theme.label}: ${words.theme[name]}`,
    })),
    command('shortcuts', here, showShortcuts),
    command('signOut', here, () => void session.signOut()),
  ];
}

/** Returns the settings of the installation. */
function administration(): Command[] {
  return Object.entries(admin.tabs).map(([id, label]) => ({
    group: words.palette.groups.commands,
    key: `admin ${id}`,
    title: `${words.screens.admin}: ${label}`,
    href: href(['admin', id]),
  }));
}
