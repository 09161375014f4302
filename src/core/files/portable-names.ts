import { shorten } from '../text/shorten.ts'
import { numberedName } from './numbered-name.ts'

/**
 * Names that every system can store (Microsoft, "Naming Files, Paths, and Namespaces"): Windows reserves some
 * characters and words, allows no trailing dot or space, and limits paths to 260 characters. Windows and macOS ignore
 * case.
 */

/** UTF-16 units of a path in the archive; the rest of the 260 is for the folder it is extracted into. */
export const LONGEST_PATH = 200
const LONGEST_TOP = 80
/** Below a longer folder path, names have no room: entries move up to the first folder. */
const LONGEST_PARENT = 150

const RESERVED = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:[ .].*)?$/i

export function portableName(name: string): string {
  const safeName = name
    .normalize('NFC')
    // oxlint-disable-next-line no-control-regex -- Windows allows no control characters either.
    .replaceAll(/[<>:"/\\|?*\x00-\x1f\x7f]/g, '_')
    .replace(/[. ]+$/, (end) => '_'.repeat(end.length))
  return RESERVED.test(safeName) ? `_${safeName}` : safeName
}

/** Equal for names that collide on systems that ignore case or Unicode normalization. */
const keyOf = (path: string): string => path.normalize('NFKD').toUpperCase().toLowerCase().normalize('NFC')

export class PortableFolder {
  readonly path: string
  readonly #takenNames = new Set<string>()
  /** The next number per taken name, so a thousand equal names cost a thousand steps. */
  readonly #numbers = new Map<string, number>()

  constructor(path: string) {
    this.path = path
  }

  get isRoomy(): boolean {
    return this.path.length < LONGEST_PARENT
  }

  pathFor(original: string): string {
    const parent = this.path === '' ? '' : `${this.path}/`
    const room = LONGEST_PATH - parent.length
    const name = fitting(portableName(original), room)
    const key = keyOf(name)
    let free = name
    for (let n = this.#numbers.get(key) ?? 2; this.#takenNames.has(keyOf(free)); n++) {
      free = numberedName(fitting(name, room - ` (${n})`.length), n)
      this.#numbers.set(key, n + 1)
    }
    this.#takenNames.add(keyOf(free))
    return parent + free
  }
}

/** Assigns each archive entry a unique path below `top`. Folders must come before their contents. */
export function portablePaths(top: string): (path: string, kind: 'file' | 'folder') => string {
  const all = new PortableFolder('')
  const first = new PortableFolder(fitting(portableName(top), LONGEST_TOP))
  const folders = new Map([[top, first]])
  return (path, kind) => {
    if (path === top && kind === 'folder') return first.path
    const slash = path.lastIndexOf('/')
    const above = slash < 0 ? all : folders.get(path.slice(0, slash))!
    const free = (above.isRoomy ? above : first).pathFor(path.slice(slash + 1))
    if (kind === 'folder') folders.set(path, new PortableFolder(free))
    return free
  }
}

function fitting(name: string, most: number): string {
  if (name.length <= most) return name
  const dot = name.lastIndexOf('.')
  const ending = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : ''
  return portableName(shorten(name.slice(0, name.length - ending.length), most - ending.length) + ending)
}
