import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { pathBytes } from '#core/files/file-path.ts'
import { Stop, codeOf } from '../../../exit.ts'
import { parseArguments } from '../../../input/arguments.ts'
import { textField } from '../../../input/fields.ts'
import { readText } from '../../../input/input.ts'
import type { Globals } from '../../../globals.ts'
import { type Terminal, clean } from '../../../terminal.ts'
import { type Target, computerNamed, homeOf } from '../target.ts'
import { type Copying, copyContent, copyFile, copyFolder } from './copy.ts'
import { type FileEntry, type Side, type Sink, type Source, below, lastOf } from './ends.ts'
import { here } from './here.ts'
import { type Progress, progressOn } from '../../../output/progress.ts'
import { filesOf } from './there.ts'

/** `box:/var/log/syslog`, `-` for stdin or stdout, or a local path. */
export type Place =
  | { type: 'here'; path: string }
  | { type: 'pipe' }
  | { type: 'there'; computer: string; path: string }

export function placeOf(word: string): Place {
  if (word === '-') return { type: 'pipe' }
  const colon = word.indexOf(':')
  // A path with a slash before its colon is local.
  if (colon < 1 || word.slice(0, colon).includes('/')) return { type: 'here', path: word }
  return { type: 'there', computer: word.slice(0, colon), path: word.slice(colon + 1) }
}

export async function cp(words: readonly string[], terminal: Terminal): Promise<number> {
  const { places, recursive, force, globals } = await read(words)
  const target = places.at(-1)
  const sources = places.slice(0, -1)
  if (target === undefined || sources.length === 0)
    throw new Stop('usage', 'Pass a source and a target.', 'Example: uk computer cp notes.txt box:/home/ada/notes.txt')
  if (![...sources, target].some(({ type }) => type === 'there'))
    throw new Stop(
      'usage',
      'The source or the target must be on a computer, as NAME:path.',
      'For a local file with a colon in its name, write ./file:name.',
    )
  using progress = progressOn(process.stderr)
  const leave = terminal.onInterrupt(() => {
    progress[Symbol.dispose]()
    terminal.err('Interrupted. Run the same command again to resume.')
  })
  const sides = sidesOf(globals, terminal)
  let skipped = 0
  for (const source of sources)
    skipped += await copyOne({
      source,
      target,
      several: sources.length > 1,
      recursive,
      force,
      sides,
      progress,
      terminal,
    })
  leave()
  return codeOf(skipped === 0 ? 'ok' : 'failure')
}

async function read(words: readonly string[]) {
  const end = words.includes('--') ? words.indexOf('--') : words.length
  const long = { '-r': '--recursive', '-R': '--recursive', '-f': '--force' } as Record<string, string>
  const fields = [
    ...['recursive', 'force'].map((name) => ({ ...textField(name), kind: 'switch' as const })),
    ...words.map((_, n) => ({ ...textField(`place ${n}`), inPath: true })),
  ]
  const { input, globals } = await parseArguments(
    [...words.slice(0, end).map((word) => long[word] ?? word), ...words.slice(end)],
    fields,
    readText,
  )
  const { recursive = false, force = false, ...placed } = input as { recursive?: boolean; force?: boolean }
  return { places: Object.values(placed as Record<string, string>).map(placeOf), recursive, force, globals }
}

type Sides = (place: Extract<Place, { type: 'here' | 'there' }>) => Promise<{ side: Side; path: Buffer }>

/** Resolves both sides of a copy. Looks up each computer and its home once. */
function sidesOf(globals: Globals, terminal: Terminal): Sides {
  const lookups = new Map<string, Promise<There>>()
  return async (place) => {
    if (place.type === 'here') return { side: here, path: Buffer.from(resolve(place.path) + endOf(place.path)) }
    const { computer, path } = place
    if (!lookups.has(computer)) lookups.set(computer, computerNamed(computer, globals, terminal).then(thereOf))
    const { side, home } = await lookups.get(computer)!
    if (/^(file:\/\/)?\//.test(path)) return { side, path: pathBytes(path) }
    if (/^~[^/]/.test(path))
      throw new Stop(
        'usage',
        `${computer}:${path}: only ~ itself is supported.`,
        'Write the full path, such as /home/NAME/path.',
      )
    const rest = path.replace(/^~(\/|$)/, '')
    const folder = await home()
    return { side, path: pathBytes(rest === '' ? folder : `${folder.replace(/\/$/, '')}/${rest}`) }
  }
}

interface There {
  side: Side
  home(): Promise<string>
}

function thereOf(target: Target): There {
  let home: Promise<string> | null = null
  return { side: filesOf(target), home: () => (home ??= homeOf(target)) }
}

/** `folder/` must exist; `folder/.` means its content. */
const endOf = (path: string): string => /\/\.?$/.exec(path)?.[0] ?? ''

interface One {
  source: Place
  target: Place
  several: boolean
  recursive: boolean
  force: boolean
  sides: Sides
  progress: Progress
  terminal: Terminal
}

/** Returns the number of skipped entries. */
async function copyOne({ source, target, several, recursive, force, sides, progress, terminal }: One): Promise<number> {
  if (source.type === 'pipe') {
    const { side, path } = await sides(target as Exclude<Place, { type: 'pipe' }>)
    const there = await side.look(path)
    if (there?.type === 'folder') throw new Stop('usage', 'Piped input needs a file name, such as NAME:/folder/file.')
    await copyContent(stdin(), side.sink(path, { force, beside: null }), 'stdin', progress)
    return 0
  }
  const from = await sides(source)
  const entry = await from.side.look(from.path)
  const text = from.side.called(from.path)
  if (entry === null) throw new Stop('not_found', `${text} doesn't exist.`)
  if (entry.type === 'folder' && !recursive)
    throw new Stop('usage', `${text} is a folder.`, 'Add -r to copy it with everything in it.')
  if (entry.type !== 'folder' && entry.type !== 'file') throw new Stop('usage', `${text} isn't a file or folder.`)
  if (target.type === 'pipe') {
    if (entry.type === 'folder') throw new Stop('usage', "Can't write a folder to stdout.")
    await copyContent(from.side.source(from.path, entry), stdout(terminal), text, progress)
    return 0
  }
  const to = await sides(target)
  const copying: Copying = { from: from.side, to: to.side, force, progress, say: (line) => terminal.err(clean(line)) }
  const [path, there] = await goalOf(to, { path: from.path, isFolder: entry.type === 'folder' }, several)
  if (entry.type === 'folder') return await copyFolder(copying, from.path, path)
  await copyFile(copying, [from.path, entry], [path, there])
  return 0
}

/**
 * The target path: inside an existing folder, else the path itself. `folder/.` copies the content without the folder's
 * name.
 */
async function goalOf(
  { side, path }: { side: Side; path: Buffer },
  source: { path: Buffer; isFolder: boolean },
  several: boolean,
): Promise<[Buffer, FileEntry | null]> {
  const there = await side.look(path)
  if (there?.type === 'folder') {
    const name = lastOf(source.path)
    const goal = ['', '.', '..'].includes(name.toString('latin1')) ? path : below(path, name)
    return [goal, goal === path ? there : await side.look(goal)]
  }
  if (several || (!source.isFolder && path.at(-1) === 0x2f))
    throw new Stop('not_found', `${side.called(path)} isn't a folder.`)
  return [path, there]
}

function stdin(): Source {
  return {
    size: null,
    mode: null,
    modified: null,
    mark: randomBytes(16).toString('hex'),
    read: () => process.stdin as AsyncIterable<Uint8Array>,
    measure: async () => {},
  }
}

/** Writes to stdout. Written bytes can't be taken back, so a resumed copy continues after them. */
function stdout(terminal: Terminal): Sink {
  let written = 0
  return {
    announces: false,
    begun: async () => written,
    async write(source, from, at) {
      let end = from
      for await (const part of source.read(from)) {
        await terminal.out(part)
        written = end += part.length
        at(end)
      }
    },
  }
}
