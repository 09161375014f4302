/**
 * Opens paths without leaving the allowed roots. It opens first, asks the system where the descriptor really is,
 * and then uses only the descriptor, so swapping a folder for a symlink has no effect. On Linux,
 * `/proc/self/fd/N/name` serves as `openat(N, name)`.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises'
import { Refusal, refuse } from '#core/errors.ts'
import { pathText } from '#core/files/file-path.ts'
import { refuseSystem } from './faults.ts'
import { below, nameOf, parentOf } from './path.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants
/** A Linux flag, the same on every architecture Node supports: locates a file without opening it. */
const O_PATH = 0o10_000_000
const linux = process.platform === 'linux'
const asBytes = { encoding: 'buffer' } as const

/** An open folder. Access to its entries survives a rename of the folder. */
export interface Folder extends AsyncDisposable {
  path: Buffer
  handle: FileHandle
  /** Real paths of inaccessible folders. */
  closed: readonly Buffer[]
  isShut(name: Buffer): boolean
  /** A path to use for an entry of this folder; `.` is the folder itself. */
  at(name: string | Buffer): Buffer
}

export interface Roots {
  openFolder(path: Buffer): Promise<Folder>
  /** The parent folder of `path`, and the name in it. Throws 400 for the root of the file system. */
  openParent(path: Buffer): Promise<{ folder: Folder; name: Buffer }>
  /**
   * Like `openParent`, for writing: follows a final symlink whose steps all stay within the roots. Its target may
   * not exist yet. `followed`: `path` is a symlink.
   */
  openTarget(path: Buffer): Promise<{ folder: Folder; name: Buffer; followed: boolean }>
  /** Opens a regular file or folder for reading. Follows a final symlink that stays within the roots. */
  openFile(path: Buffer): Promise<{ handle: FileHandle; path: Buffer }>
  isRoot(real: Buffer): Promise<boolean>
}

/**
 * `allowed`: absolute paths of folders, `/` for all. `shut`: folders with this machine's credentials and
 * permissions, never accessible.
 */
export function createRoots(allowed: readonly string[], shut: readonly string[] = []): Roots {
  async function places(roots: readonly string[]): Promise<Buffer[]> {
    const realPaths = await Promise.all(roots.map((root) => realpath(root, asBytes).catch(() => null)))
    return realPaths.filter((place) => place !== null)
  }
  /** The inaccessible folders, by their real paths and by the given ones, where a new folder could be created. */
  const shutPaths = async (): Promise<Buffer[]> => [...(await places(shut)), ...shut.map((path) => Buffer.from(path))]

  async function checkInside(real: Buffer): Promise<void> {
    if ((await shutPaths()).some((place) => holds(place, real))) refuseShut()
    if ((await places(allowed)).some((place) => holds(place, real))) return
    refuse('capability_denied', {
      param: 'path',
      message: `The computer’s owner allows file access only in ${allowed.join(', ')}.`,
    })
  }

  async function openInside(path: Buffer, flags: number): Promise<{ handle: FileHandle; path: Buffer }> {
    const handle = await open(path, flags).catch(async (error) => {
      // Doesn't reveal whether something exists outside.
      await checkInside(await nearest(path))
      return refuseSystem(error, path)
    })
    try {
      const real = await placeOf(handle, path)
      await checkInside(real)
      return { handle, path: real }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  async function openFolder(requested: Buffer): Promise<Folder> {
    const { handle, path } = await openInside(requested, O_RDONLY | O_DIRECTORY | O_NONBLOCK)
    return folderOf(handle, path, await shutPaths())
  }

  async function openParent(path: Buffer): Promise<{ folder: Folder; name: Buffer }> {
    const name = nameOf(path)
    if (name.length === 0)
      refuse('invalid_parameter', { param: 'path', message: 'The root of the file system can’t be removed.' })
    const folder = await openFolder(parentOf(path))
    if (!folder.isShut(name)) return { folder, name }
    await folder[Symbol.asyncDispose]()
    return refuseShut()
  }

  return {
    openFolder,
    openParent,
    async openTarget(path) {
      let current = path
      for (let links = 0; links <= MAX_LINKS; links++) {
        const holder = await openParent(current).catch((error: unknown) => refuseLink(error, links > 0 ? path : null))
        const target = await readlink(holder.folder.at(holder.name), asBytes).catch(() => null)
        if (target === null) return { ...holder, followed: links > 0 }
        await holder.folder[Symbol.asyncDispose]()
        current = behindLink(holder.folder.path, target)
        const last = nameOf(current).toString('latin1')
        const namesFolder = target.at(-1) === 0x2f || ['', '.', '..'].includes(last)
        if (!namesFolder) continue
        const folder = await openFolder(current).catch((error: unknown) => refuseLink(error, path))
        await folder[Symbol.asyncDispose]()
        refuse('invalid_state', {
          param: 'path',
          details: { path: pathText(path) },
          message: 'The path is a folder.',
        })
      }
      return refuseSystem(Object.assign(new Error('too many symlinks'), { code: 'ELOOP' }), path)
    },
    async openFile(given) {
      // Inspected first where possible: opening a pipe unblocks its writer, and a device may do anything.
      const { handle: located, path } = await openInside(given, linux ? O_PATH : O_RDONLY | O_NONBLOCK)
      try {
        const stats = await located.stat()
        if (!stats.isFile() && !stats.isDirectory())
          refuse('invalid_parameter', {
            param: 'path',
            message: 'The path is a device, socket or pipe, which can’t be downloaded.',
            details: { path: pathText(given) },
          })
        if (!linux) return { handle: located, path }
        const handle = await open(`/proc/self/fd/${located.fd}`, O_RDONLY | O_NONBLOCK)
        await located.close()
        return { handle, path }
      } catch (error) {
        await located.close()
        return refuseSystem(error, given)
      }
    },
    isRoot: async (real) => (await places(allowed)).some((place) => place.equals(real)),
  }
}

/**
 * Returns the real path of `path` or its closest existing ancestor. A dangling symlink counts as its target, so a
 * link out of the roots doesn't reveal what exists there.
 */
async function nearest(path: Buffer): Promise<Buffer> {
  let links = 0
  for (let current = path; ;) {
    const real = await realpath(current, asBytes).catch(() => null)
    if (real !== null || current.equals(SLASH)) return real ?? current
    const target = links < MAX_LINKS ? await readlink(current, asBytes).catch(() => null) : null
    if (target !== null) links++
    current = target === null ? parentOf(current) : behindLink(parentOf(current), target)
  }
}

const SLASH = Buffer.from('/')
const MAX_LINKS = 40

/** The path that a symlink in `folder` points to. Not normalized: only the system knows where `..` leads. */
const behindLink = (folder: Buffer, target: Buffer): Buffer =>
  target[0] === 0x2f ? target : Buffer.concat([folder, SLASH, target])

/** Reports an error about a symlink's target under the link's name. Null: no link was followed. */
function refuseLink(error: unknown, link: Buffer | null): never {
  if (link === null || !(error instanceof Refusal)) throw error
  const { code, message } = error
  const at = { param: 'path', details: { path: pathText(link) } }
  if (code === 'capability_denied')
    refuse(code, { ...at, message: `The path is a symlink to a place where file access isn’t allowed. ${message}` })
  if (code === 'not_found') refuse(code, { ...at, message: 'The path is a symlink into a folder that doesn’t exist.' })
  throw error
}

const holds = (place: Buffer, real: Buffer): boolean => {
  const start = place.equals(SLASH) ? place : Buffer.concat([place, SLASH])
  return real.equals(place) || real.subarray(0, start.length).equals(start)
}

const refuseShut = (): never =>
  refuse('capability_denied', { param: 'path', message: 'The daemon’s own files can’t be accessed.' })

export async function openBelow(parent: Folder, name: Buffer): Promise<Folder> {
  if (parent.isShut(name)) refuseShut()
  const handle = await open(parent.at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK)
  return folderOf(handle, below(parent.path, name), parent.closed)
}

function folderOf(handle: FileHandle, path: Buffer, shutPaths: readonly Buffer[]): Folder {
  const base = Buffer.concat([linux ? Buffer.from(`/proc/self/fd/${handle.fd}`) : path, SLASH])
  return {
    path,
    handle,
    closed: shutPaths,
    isShut: (name) => shutPaths.some((place) => holds(place, below(path, name))),
    at: (name) => Buffer.concat([base, typeof name === 'string' ? Buffer.from(name) : name]),
    [Symbol.asyncDispose]: () => handle.close(),
  }
}

/**
 * Returns the real path of an open file. Outside Linux it is found by path and compared with the descriptor's
 * device and inode.
 */
async function placeOf(handle: FileHandle, path: Buffer): Promise<Buffer> {
  if (linux) return readlink(`/proc/self/fd/${handle.fd}`, asBytes)
  const real = await realpath(path, asBytes)
  await using again = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  const [a, b] = await Promise.all([handle.stat(), again.stat()])
  if (a.dev !== b.dev || a.ino !== b.ino)
    refuse('stale_update', { param: 'path', message: 'The path was changed in the meantime. Try again.' })
  return real
}
