/** What is said of whose a project is, and of who sees it. */
export const sharing = {
  access: {
    read: 'You can read this project. Its owner and the editors of its space run it, decide, and change it.',
    execute:
      'You can start a run. Others stop, resume or cancel it, decide, and change or delete the project.',
  },
  owner: {
    label: 'Owner',
    title: (name: string) => `Owner: ${name}`,
    you: 'You',
    administrators: 'Administrators',
    guests: 'Guests',
    unknown: 'Another user',
  },
  share: {
    action: 'Share',
    title: 'Share the project',
    label: 'Space to share it with',
    none: 'Not shared',
    hint: 'Members of the space can read it. Its editors can also run it, decide, and change it.',
    noneHint: 'Only its owner and administrators see it.',
    noSpaces:
      'Only its owner and administrators see it. To share it, you need a space in which you are an editor.',
  },
};
