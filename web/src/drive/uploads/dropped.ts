import type { Chosen } from './entry.ts'

/** The dropped files, and those in dropped folders with the names of the folders. */
export async function droppedIn({ items, files }: DataTransfer): Promise<Chosen[]> {
  // They can be asked for only now: when the drop is over they are gone.
  const entries = [...items].filter(({ kind }) => kind === 'file').map((item) => item.webkitGetAsEntry())
  const plain = [...files]
  if (entries.every((entry) => entry === null)) return plain.map((file) => ({ file, folders: [] }))
  const all: Chosen[] = []
  for (const entry of entries) if (entry !== null) await walk(entry, [], all)
  return all
}

async function walk(entry: FileSystemEntry, folders: readonly string[], into: Chosen[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    into.push({ file, folders })
    return
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  // A reader answers a part of a long folder at a time.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return
    for (const one of some) await walk(one, [...folders, entry.name], into)
  }
}

/**
 * The files that were chosen in the browser's dialog: `webkitRelativePath` names the folders of a folder that was
 * chosen.
 */
export const chosenIn = (files: FileList | null): Chosen[] =>
  [...(files ?? [])].map((file) => ({ file, folders: file.webkitRelativePath.split('/').slice(0, -1) }))
