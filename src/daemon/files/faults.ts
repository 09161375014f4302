import { statfs } from 'node:fs/promises'
import { Refusal, refuse } from '#core/errors.ts'
import { pathText } from '#core/files/file-path.ts'

/** Converts a system error (`error.code` of Node's fs) to a refusal with the path. */
export function refuseSystem(error: unknown, path: Buffer): never {
  if (error instanceof Refusal) throw error
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const at = { param: 'path', details: { path: pathText(path) } }
  switch (code) {
    case 'ENOENT':
      return refuse('not_found', { ...at, message: 'The path doesn’t exist.' })
    case 'ENOTDIR':
      return refuse('invalid_parameter', { ...at, message: 'Part of the path isn’t a folder.' })
    case 'EISDIR':
      return refuse('invalid_parameter', { ...at, message: 'The path is a folder.' })
    case 'EACCES':
    case 'EPERM':
      return refuse('capability_denied', {
        ...at,
        message: 'The user the daemon runs as doesn’t have permission for this.',
      })
    case 'EEXIST':
      return refuse('already_exists', { ...at, message: 'The path already exists.' })
    case 'ENOTEMPTY':
      return refuse('invalid_state', {
        ...at,
        message: 'The folder isn’t empty. Set `recursive` to remove its contents too.',
      })
    case 'ELOOP':
      return refuse('invalid_parameter', {
        ...at,
        message: 'The path has too many symlinks, or one that can’t be followed.',
      })
    case 'ENAMETOOLONG':
      return refuse('invalid_parameter', { ...at, message: 'A name in the path is too long for the file system.' })
    case 'EFBIG':
      return refuse('invalid_parameter', { ...at, message: 'The file is too large for the file system.' })
    case 'EROFS':
      return refuse('invalid_state', { ...at, message: 'The file system is read-only.' })
    case 'EBUSY':
    case 'ETXTBSY':
      return refuse('invalid_state', { ...at, message: 'The file or folder is in use.' })
    case 'ENXIO':
    case 'ENODEV':
    case 'EINVAL':
      return refuse('invalid_parameter', { ...at, message: 'This path isn’t a regular file or folder.' })
    case 'EIO':
    case 'EAGAIN':
      return refuse('invalid_state', { ...at, message: 'The system has no data to read at this path right now.' })
    case 'EMFILE':
    case 'ENFILE':
      return refuse('unavailable', { message: 'The computer has too many open files. Try again later.' })
    default:
      throw error
  }
}

export const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')

interface Place {
  at(name: string): Buffer
}

/** Like `refuseSystem`, for operations that create something. A full disk reports its free space. */
export async function refuseMaking(folder: Place, error: unknown, path: Buffer): Promise<never> {
  if (!isFull(error)) return refuseSystem(error, path)
  return 'code' in (error as object) && (error as NodeJS.ErrnoException).code === 'EDQUOT'
    ? refuseQuota()
    : refuseFull(folder, null)
}

const refuseQuota = (): never =>
  refuse('storage_full', {
    message: 'The disk quota of the user the daemon runs as is used up.',
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
    needed !== null ? `, but ${needed} are needed` : files > 0 && ffree === 0 ? ', but no room for more files' : ''
  return refuse('storage_full', {
    message: `The computer’s disk has ${free} free bytes${more}.`,
    details: { free_bytes: free, needed_bytes: needed },
  })
}
