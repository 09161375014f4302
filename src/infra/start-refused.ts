/**
 * The server cannot start, for a reason that its owner can change (a data dir in use, a full disk, no binaries).
 * The message is one line that says what is wrong and what would help; `main.ts` prints it alone and exits non-zero.
 */
export class StartRefused extends Error {
  override name = 'StartRefused'

  constructor(message: string, options?: ErrorOptions) {
    super(message.replaceAll(/\s*\n\s*/g, ' ').trim(), options)
  }
}

const NO_SPACE = 'there is no space left on the disk'

/** Errors of the operating system and of PostgreSQL that the owner can change, in words; null for all others. */
const words: Record<string, string> = {
  ENOSPC: NO_SPACE,
  // disk_full
  '53100': NO_SPACE,
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'permission is denied',
  EPERM: 'the operation is not permitted',
  ENOENT: 'a folder of the path is not there and cannot be made',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'a part of the path is a file',
}

/** An error of any step of the start becomes `StartRefused` where the owner can act on it, else it stays itself. */
export function explainStart(error: unknown, doing: string): unknown {
  if (error instanceof StartRefused || !(error instanceof Error) || !('code' in error)) return error
  const word = words[String(error.code)]
  if (!word) return error
  const path = 'path' in error ? ` (${String(error.path)})` : ''
  return new StartRefused(`${doing}: ${word}${path}`)
}

/** The host and the name of a database. Its URL also holds a password, which no message may show. */
export function placeOf(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl)
  return `the database of DATABASE_URL (${host}${pathname})`
}

export const unusableDatabase = (databaseUrl: string, error: unknown): StartRefused =>
  new StartRefused(`${placeOf(databaseUrl)} cannot be used: ${reasonOf(error)}`)

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  return error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error)
}

/** The data folder and the setting that names it. */
export const placeOfData = (dataDir: string): string =>
  `${dataDir} (UK_DATA_DIR, by default ./data in the current folder)`

/** The advice for a command that finds no instance in its data folder. */
export const FIND_DATA = 'run this in the clone that the server runs from, or set UK_DATA_DIR to its data folder'
