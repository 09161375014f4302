/** What a copy has at its two ends, wherever they are: this machine, a computer, or a pipe. Paths and names are bytes. */

/** A row of a folder, or what a path names. */
export interface Found {
  name: Buffer
  type: 'file' | 'folder' | 'symlink' | 'other'
  size: number
  mode: number
  /** The time of the last change, in milliseconds. */
  modified: number
}

export interface Source {
  /** Null: it is known at its end. May become null on reading: the system generates some files, and reports no true size. */
  readonly size: number | null
  /** Permission bits; null: those of a new file. */
  mode: number | null
  modified: number | null
  /** The mark of the content. A copy that was begun with one mark goes on with the same only. */
  mark: string
  /** The bytes from there on. */
  read(from: number): AsyncIterable<Uint8Array>
  /** Checks whether `size` is true, and sets it to null if it isn't. */
  measure(): Promise<void>
}

export interface Sink {
  /** Whether it has to know the size before the first byte. */
  announces: boolean
  /** How many bytes of this content have come before. */
  begun(source: Source): Promise<number>
  /** Takes what follows, and puts the file in its place, whole. Tells how far it is. */
  write(source: Source, from: number, at: (offset: number) => void): Promise<void>
}

/** A place with files: this machine, or a computer. */
export interface Side {
  /** A path as people read it. */
  called(path: Buffer): string
  /** The thing at a path, behind a symlink too. */
  look(path: Buffer): Promise<Found | null>
  list(path: Buffer): AsyncIterable<Found>
  makeFolder(path: Buffer): Promise<void>
  source(path: Buffer, found: Found): Source
  /** `beside`: the names in the folder that will hold it, where they are known. */
  sink(path: Buffer, options: { force: boolean; beside: readonly Buffer[] | null }): Sink
}

const SLASH = Buffer.from('/')

export const below = (folder: Buffer, name: Buffer): Buffer =>
  Buffer.concat(folder.at(-1) === SLASH[0] ? [folder, name] : [folder, SLASH, name])

/** The last part of a path; empty for `/`. */
export function lastOf(path: Buffer): Buffer {
  let end = path.length
  while (end > 1 && path[end - 1] === SLASH[0]) end--
  const part = path.subarray(0, end)
  return part.subarray(part.lastIndexOf(SLASH) + 1)
}

/** Whether two files are of one size and time, as rsync(1) has it: what an earlier copy has put there already. */
export const isSame = (there: Found, { size, modified }: Pick<Source, 'size' | 'modified'>): boolean =>
  there.type === 'file' && there.size === size && there.modified === modified
