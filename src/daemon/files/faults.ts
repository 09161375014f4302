import { statfs } from 'node:fs/promises'
import { Refusal, refuse } from '#core/errors.ts'
import { pathText } from '#core/files/file-path.ts'

/** Turns what the operating system said (`error.code` of Node's fs) into a refusal that names the path. */
export function refuseSystem(error: unknown, path: Buffer): never {
  if (error instanceof Refusal) throw error
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const at = { param: 'path', details: { path: pathText(path) } }
  switch (code) {
    case 'ENOENT':
      return refuse('not_found', { ...at, message: 'There is nothing at this path.' })
    case 'ENOTDIR':
      return refuse('invalid_parameter', { ...at, message: 'A part of the path is not a folder.' })
    case 'EISDIR':
      return refuse('invalid_parameter', { ...at, message: 'The path names a folder.' })
    case 'EACCES':
    case 'EPERM':
      return refuse('capability_denied', { ...at, message: 'The user that the daemon runs as may not do this here.' })
    case 'EEXIST':
      return refuse('already_exists', { ...at, message: 'There is something at this path already.' })
    case 'ENOTEMPTY':
      return refuse('invalid_state', {
        ...at,
        message: 'The folder is not empty; say `recursive` to remove what is in it.',
      })
    case 'ELOOP':
      return refuse('invalid_parameter', {
        ...at,
        message: 'The path leads through too many symlinks, or through one that may not be followed.',
      })
    case 'ENAMETOOLONG':
      return refuse('invalid_parameter', { ...at, message: 'A name of the path is longer than the file system takes.' })
    case 'EFBIG':
      return refuse('invalid_parameter', { ...at, message: 'The file is larger than the file system takes.' })
    case 'EROFS':
      return refuse('invalid_state', { ...at, message: 'The file system is read-only.' })
    case 'EBUSY':
    case 'ETXTBSY':
      return refuse('invalid_state', { ...at, message: 'It is in use.' })
    case 'ENXIO':
    case 'ENODEV':
    case 'EINVAL':
      return refuse('invalid_parameter', { ...at, message: 'This is not a file or folder that can be used.' })
    case 'EIO':
    case 'EAGAIN':
      return refuse('invalid_state', { ...at, message: 'The system gives nothing to read at this path now.' })
    case 'EMFILE':
    case 'ENFILE':
      return refuse('unavailable', { message: 'The computer has too many files open. Try again.' })
    default:
      throw error
  }
}

/** True where the disk, or a quota on it, has no room left. */
export const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')

interface Place {
  at(name: string): Buffer
}

/** The same for what makes something in a folder: a disk that has no room for it says how much it has. */
export async function refuseMaking(folder: Place, error: unknown, path: Buffer): Promise<never> {
  if (!isFull(error)) return refuseSystem(error, path)
  return 'code' in (error as object) && (error as NodeJS.ErrnoException).code === 'EDQUOT'
    ? refuseQuota()
    : refuseFull(folder, null)
}

/** The account may have no more on this disk, whatever room the disk has. */
const refuseQuota = (): never =>
  refuse('storage_full', {
    message: 'The user that the daemon runs as may keep no more on this disk: its quota is used up.',
    details: { free_bytes: 0, needed_bytes: null },
  })

export async function freeBytes(folder: Place): Promise<number> {
  const { bavail, bsize } = await statfs(folder.at('.'))
  return bavail * bsize
}

export async function refuseFull(folder: Place, needed: number | null): Promise<never> {
  const { ffree, files } = await statfs(folder.at('.'))
  const free = await freeBytes(folder)
  const more =
    needed !== null ? `, and ${needed} are needed` : files > 0 && ffree === 0 ? ', and no room for more files' : ''
  return refuse('storage_full', {
    message: `The disk of the computer has ${free} bytes left${more}.`,
    details: { free_bytes: free, needed_bytes: needed },
  })
}
