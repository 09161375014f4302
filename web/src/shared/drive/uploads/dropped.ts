import type { ChosenFile } from './entry.ts'

export async function droppedIn({ items, files }: DataTransfer): Promise<ChosenFile[]> {
  // The entries are available only during the drop event.
  const entries = [...items].filter(({ kind }) => kind === 'file').map((item) => item.webkitGetAsEntry())
  const plain = [...files]
  if (entries.every((entry) => entry === null)) return plain.map((file) => ({ file, folders: [] }))
  const all: ChosenFile[] = []
  for (const entry of entries) if (entry !== null) await walk(entry, [], all)
  return all
}

async function walk(entry: FileSystemEntry, folders: readonly string[], into: ChosenFile[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    into.push({ file, folders })
    return
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  // Readers return long folders in batches.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return
    for (const one of some) await walk(one, [...folders, entry.name], into)
  }
}

/** Files chosen in a dialog. `webkitRelativePath` has the path within a chosen folder. */
export const chosenIn = (files: FileList | null): ChosenFile[] =>
  [...(files ?? [])].map((file) => ({ file, folders: file.webkitRelativePath.split('/').slice(0, -1) }))
