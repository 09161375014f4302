/**
 * The server can't start for a reason its operator can fix (data folder in use, full disk, missing binaries). The
 * message is one line with the problem and the fix; `main.ts` prints only that and exits with 1.
 */
export class StartRefused extends Error {
  override name = 'StartRefused'

  constructor(message: string, options?: ErrorOptions) {
    super(message.replaceAll(/\s*\n\s*/g, ' ').trim(), options)
  }
}

const NO_SPACE = 'the disk is full'

const words: Record<string, string> = {
  ENOSPC: NO_SPACE,
  '53100': NO_SPACE,
  EDQUOT: 'the disk quota is exceeded',
  EROFS: 'the file system is read-only',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  ENOENT: "a folder in the path doesn't exist and can't be created",
  ENOTDIR: 'part of the path is a file',
  EEXIST: 'part of the path is a file',
}

/** Turns a startup error into `StartRefused` if the operator can fix it; returns other errors unchanged. */
export function explainStart(error: unknown, doing: string): unknown {
  if (error instanceof StartRefused || !(error instanceof Error) || !('code' in error)) return error
  const word = words[String(error.code)]
  if (!word) return error
  const path = 'path' in error ? ` (${String(error.path)})` : ''
  return new StartRefused(`${doing}: ${word}${path}`)
}

/** Host and name of a database. Its URL contains a password, which messages must not show. */
export function placeOf(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl)
  return `the database in DATABASE_URL (${host}${pathname})`
}

export const unusableDatabase = (databaseUrl: string, error: unknown): StartRefused =>
  new StartRefused(`can't use ${placeOf(databaseUrl)}: ${reasonOf(error)}`)

function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  return error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error)
}

export const placeOfData = (dataDir: string): string => `${dataDir} (UK_DATA_DIR, default ./data in the current folder)`

export const FIND_DATA = "run this in the server's clone, or set UK_DATA_DIR to its data folder"
