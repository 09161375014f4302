/** The two ends of a copy: this machine, a computer, or a pipe. Paths and names are bytes. */

export interface FileEntry {
  name: Buffer
  type: 'file' | 'folder' | 'symlink' | 'other'
  size: number
  mode: number
  /** Last change, in milliseconds. */
  modified: number
}

export interface Source {
  /** Null: known only at the end. May become null while reading: generated files don't report a true size. */
  readonly size: number | null
  /** Permission bits; null uses those of a new file. */
  mode: number | null
  modified: number | null
  /** Identifies the content: a copy resumes only with the same mark. */
  mark: string
  read(from: number): AsyncIterable<Uint8Array>
  measure(): Promise<void>
}

export interface Sink {
  /** Whether the size must be known before the first byte. */
  announces: boolean
  /** Bytes of this content received earlier. */
  begun(source: Source): Promise<number>
  /** Writes the rest, then moves the complete file into place. Reports progress to `at`. */
  write(source: Source, from: number, at: (offset: number) => void): Promise<void>
}

export interface Side {
  called(path: Buffer): string
  /** Looks up a path, following symlinks. */
  look(path: Buffer): Promise<FileEntry | null>
  list(path: Buffer): AsyncIterable<FileEntry>
  makeFolder(path: Buffer): Promise<void>
  source(path: Buffer, found: FileEntry): Source
  /** `beside`: names in the target folder, if known. */
  sink(path: Buffer, options: { force: boolean; beside: readonly Buffer[] | null }): Sink
}

const SLASH = Buffer.from('/')

export const below = (folder: Buffer, name: Buffer): Buffer =>
  Buffer.concat(folder.at(-1) === SLASH[0] ? [folder, name] : [folder, SLASH, name])

export function lastOf(path: Buffer): Buffer {
  let end = path.length
  while (end > 1 && path[end - 1] === SLASH[0]) end--
  const part = path.subarray(0, end)
  return part.subarray(part.lastIndexOf(SLASH) + 1)
}

/** Whether size and time match, as in rsync(1): copied earlier. */
export const isSame = (there: FileEntry, { size, modified }: Pick<Source, 'size' | 'modified'>): boolean =>
  there.type === 'file' && there.size === size && there.modified === modified
