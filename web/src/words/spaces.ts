import { formatNumber } from '$lib/format';

const plural = (n: number, one: string, many: string) => `${formatNumber(n)} ${n === 1 ? one : many}`;

/** What is said of spaces, on their own screen and wherever documents of several places meet. */
export const words = {
  title: 'Spaces',
  intro: 'A space has documents that several people share.',
  mine: 'My documents',
  unknown: 'A space that you are not in',
  badge: (name: string) => `From the space ${name}`,
  badgeLabel: 'Space: ',
  whose: 'Whose documents are shown',
  scope: {
    label: 'Where to look',
    everything: 'Everything',
    some: (n: number) => plural(n, 'place', 'places'),
    chosen: (what: string) => `Where to look: ${what}`,
  },
  storage: {
    label: 'Storage used',
    used: (bytes: string) => `${bytes} used`,
    of: (bytes: string, quota: string) => `${bytes} of ${quota}`,
    full: 'Full',
    about: 'The size of all files, former versions included',
  },
  quota: {
    label: 'Quota',
    hint: 'Empty: the setting of the installation counts.',
    unit: 'Unit',
    wrong: 'Enter a number, such as 2.5, or leave it empty.',
    save: 'Set the quota',
  },
  list: {
    label: 'Spaces',
    documents: (n: number) => plural(n, 'document', 'documents'),
    all: 'Show all spaces',
    others: 'Not a member',
  },
  roles: { reader: 'Reader', editor: 'Editor' },
  rolesHint: 'Readers find and read documents. Editors also add and remove them.',
  empty: {
    title: 'You are in no space yet',
    text: 'A space has documents that several people share. Its members find them in search, answers and the graph.',
    textWait: 'A space has documents that several people share. An administrator can add you to one.',
    action: 'Go to your documents',
  },
  create: 'New space',
  new: {
    title: 'New space',
    name: 'Name',
    description: 'Description',
    action: 'Create the space',
  },
  everyone: {
    label: 'Users who are not members',
    none: 'See nothing of it',
    reader: 'Read its documents',
    editor: 'Read, add and remove its documents',
    is: {
      reader: 'All users of this installation may read it.',
      editor: 'All users of this installation may read it, add documents and remove them.',
    },
  },
  open: 'Open the documents',
  sources: 'Sources',
  settings: 'Settings',
  saved: 'Saved.',
  members: {
    title: 'Members',
    you: 'You',
    role: (name: string) => `Role of ${name}`,
    user: 'Username or email address',
    newRole: 'Role',
    add: 'Add',
    added: (name: string) => `${name} was added.`,
    remove: (name: string) => `Remove ${name} from the space`,
    none: 'No members yet. Add one by their username or email address.',
    byEveryone: 'You have this role because everyone has it.',
  },
  leave: {
    action: 'Leave the space',
    title: (name: string) => `Leave ${name}?`,
    text: 'You no longer find its documents. The documents stay in the space, those that you added too.',
    onlyMember:
      'You are its last member. Its documents stay, and an administrator can still manage the space.',
  },
  delete: {
    action: 'Delete the space',
    title: (name: string) => `Delete ${name}?`,
    text: (documents: number, size: string) =>
      documents === 0
        ? 'The space has no documents. Its members and sources are removed with it.'
        : `${plural(documents, 'document', 'documents')} (${size}) will be deleted, with their former versions and the sources of the space. Members can no longer find them. This cannot be undone.`,
    confirm: 'Delete the space and its documents',
    confirmEmpty: 'Delete the space',
  },
  gone: {
    title: 'There is no such space',
    text: 'It may have been deleted, or you are no longer a member of it.',
    action: 'Show my spaces',
  },
  documents: {
    shared: (name: string) => `All members of ${name} can see these documents.`,
    reader: (name: string) =>
      `You are a reader of ${name}: you find and read its documents. Ask an editor or an administrator to add some.`,
    drop: (name: string) => `Drop files or folders to add them to ${name}. All of its members can see them.`,
    empty: {
      title: 'No documents in this space yet',
      text: 'Drop files or folders here. All members of the space can find them as soon as they are indexed.',
      reader: 'As soon as an editor adds some, you find them here, in search and in answers.',
      action: 'Show my documents',
    },
    manage: 'About this space',
  },
};
