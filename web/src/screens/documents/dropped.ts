/** A file to send, and the folder that it was in. */
export type Found = { file: File; folder: string };

/** Returns the files of a drop, those in folders included. Call it in the event: browsers empty the drop after it. */
export function droppedFiles(transfer: DataTransfer): Promise<Found[]> {
  const entries = [...transfer.items]
    .filter(({ kind }) => kind === 'file')
    .map((item) => item.webkitGetAsEntry());
  return Promise.all(entries.map((entry) => (entry ? filesOf(entry, '') : []))).then((found) => found.flat());
}

/** Lets the user choose files, or a folder. */
export function chooseFiles({ folder = false } = {}): Promise<Found[]> {
  const input = document.createElement('input');
  Object.assign(input, { type: 'file', multiple: true, webkitdirectory: folder, hidden: true });
  // Outside of the page, the browser may throw it away while the user chooses.
  document.body.append(input);
  return new Promise<Found[]>((done) => {
    input.onchange = () => done(chosenFiles(input.files));
    input.oncancel = () => done([]);
    input.click();
  }).finally(() => input.remove());
}

/** Returns the chosen files of an input; those of a folder know their path. */
function chosenFiles(files: FileList | null): Found[] {
  return [...(files ?? [])]
    .map((file) => ({ file, folder: file.webkitRelativePath.split('/').slice(0, -1).join('/') }))
    .filter(({ file, folder }) => folder === '' || [...folder.split('/'), file.name].every(isWanted));
}

async function filesOf(entry: FileSystemEntry, folder: string): Promise<Found[]> {
  // A dropped file is sent whatever its name is; in folders, hidden ones are not what was meant.
  if (folder !== '' && !isWanted(entry.name)) return [];
  if (isFile(entry))
    return [{ file: await new Promise<File>((done, failed) => entry.file(done, failed)), folder }];
  if (!isFolder(entry) || !isWanted(entry.name)) return [];
  const found: Found[] = [];
  const path = folder ? `${folder}/${entry.name}` : entry.name;
  for (const child of await children(entry)) found.push(...(await filesOf(child, path)));
  return found;
}

/** Reads a folder. A browser returns it in batches of 100, and an empty one at the end. */
async function children(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
    if (batch.length === 0) return all;
    all.push(...batch);
  }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;
const isWanted = (name: string) => !name.startsWith('.') && !['Thumbs.db', 'desktop.ini'].includes(name);
