/**
 * Measures the structure by its imports: `sh bin/run tools/rooms.ts [--root DIR] [--all] [--json]`. `DIR` can be an older
 * checkout.
 *
 * A room is a folder in `src/` or `web/src/`. Its boxes are its files and subfolders, without tests. An arrow is an import
 * between two boxes. A box is one floor above the highest box that it imports, so the number of floors is the longest
 * chain of arrows; a cycle is on one floor. `flat` ignores subfolders. For cycles of folders, `up` lists the fewest imports
 * to remove.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, resolve } from 'node:path'
import { parseArgs } from 'node:util'

export interface Import {
  from: string
  to: string
}

const LONG = 300
/** Contracts and loops of one piece that reads better whole. They have up to 350 lines. */
const LONGER: ReadonlySet<string> = new Set([
  'packages/http-client/src/lanes/connection.ts',
  'packages/mux/src/mux.ts',
  'src/daemon-protocol/operations.ts',
  'src/daemon/engines/ollama.ts',
  'src/gateway/call/money/metering.ts',
  'src/gateway/media/cost/price.ts',
  'src/gateway/passthrough/text-passthrough.ts',
  'src/interfaces/client.ts',
  'src/interfaces/openapi/openapi.ts',
  'src/modules/accounts/contract.ts',
  'src/modules/ai-gateway/service.ts',
  'src/modules/automations/service.ts',
  'src/modules/chats/service.ts',
  'src/modules/drive/service.ts',
  'src/modules/media/contract.ts',
  'src/modules/media/jobs/store.ts',
  'src/modules/notifications/consumer.ts',
  'src/modules/shares/service.ts',
  'web/src/automations/form/plain-words.ts',
  'web/src/shared/conversation/thread/thread.ts',
])
const LONGEST = 350
const FULL = 15
const NOT_SOURCE = /\.(test|long)\.tsx?$|(^|\/)fixtures\//

/** Source files without tests, relative to `root`. */
function sources(root: string): string[] {
  return globSync(['src/**/*.ts', 'web/src/**/*.{ts,tsx}', 'packages/*/src/**/*.ts'], { cwd: root })
    .filter((file) => !NOT_SOURCE.test(file) && !file.endsWith('.d.ts'))
    .toSorted()
}

/** All imports between source files. Aliases come from the checkout's package.json. */
export function readImports(root: string, files = sources(root)): Import[] {
  const aliases = Object.entries(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).imports ?? {}).map(
    ([name, path]) => [name.replace('*', ''), String(path).replace('*', '').replace('./', '')] as const,
  )
  const known = new Set(files)
  const found = new Map<string, Import>()
  for (const from of files) {
    const text = readFileSync(join(root, from), 'utf8')
    for (const [, word] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([#.][^']+)'/g)) {
      const to = word!.startsWith('.') ? normalize(join(dirname(from), word!)) : aliased(aliases, word!)
      if (to !== from && known.has(to)) found.set(`${from} ${to}`, { from, to })
    }
  }
  return [...found.values()]
}

function aliased(aliases: readonly (readonly [string, string])[], word: string): string {
  const [name, path] = aliases.find(([name]) => (name.endsWith('/') ? word.startsWith(name) : word === name)) ?? [
    '',
    '',
  ]
  return path + word.slice(name.length)
}

/** Groups of boxes that reach each other (Tarjan), each after all that it imports. */
export function components(boxes: Iterable<string>, arrows: readonly Import[]): string[][] {
  const next = Map.groupBy(arrows, ({ from }) => from)
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const done: string[][] = []
  const open = new Set<string>()
  const visit = (box: string): void => {
    order.set(box, order.size)
    low.set(box, order.get(box)!)
    stack.push(box)
    open.add(box)
    for (const { to } of next.get(box) ?? []) {
      if (!order.has(to)) visit(to)
      if (open.has(to)) low.set(box, Math.min(low.get(box)!, low.get(to)!))
    }
    if (low.get(box) !== order.get(box)) return
    const group = stack.splice(stack.indexOf(box))
    for (const one of group) open.delete(one)
    done.push(group)
  }
  for (const box of boxes) if (!order.has(box)) visit(box)
  return done
}

interface Drawing {
  boxes: number
  arrows: number
  floors: number
  circles: string[][]
}

function draw(boxes: ReadonlySet<string>, imports: readonly Import[]): Drawing {
  const arrows = [...new Map(imports.map((one) => [`${one.from} ${one.to}`, one])).values()].filter(
    ({ from, to }) => from !== to && boxes.has(from) && boxes.has(to),
  )
  const groups = components(boxes, arrows)
  const group = new Map(groups.flatMap((members) => members.map((member) => [member, members] as const)))
  const floor = new Map<string[], number>()
  // A group comes after all that it imports, so their floors are known.
  for (const members of groups) {
    const below = arrows.filter(({ from, to }) => group.get(from) === members && group.get(to) !== members)
    floor.set(members, 1 + Math.max(0, ...below.map(({ to }) => floor.get(group.get(to)!)!)))
  }
  return {
    boxes: boxes.size,
    arrows: arrows.length,
    floors: Math.max(0, ...floor.values()),
    circles: groups.filter((members) => members.length > 1).map((members) => members.toSorted()),
  }
}

/** The box of a folder that a path belongs to: a file in it, or the folder below it. Null outside of it. */
function boxIn(folder: string, path: string): string | null {
  if (!path.startsWith(`${folder}/`)) return null
  const slash = path.indexOf('/', folder.length + 1)
  return slash < 0 ? path : path.slice(0, slash)
}

function room(folder: string, files: readonly string[], imports: readonly Import[]): { drawn: Drawing; flat: Drawing } {
  const inside = imports.flatMap(({ from, to }) => {
    const [a, b] = [boxIn(folder, from), boxIn(folder, to)]
    return a && b && a !== b ? [{ from: a, to: b }] : []
  })
  const own = files.filter((file) => file.startsWith(`${folder}/`))
  return {
    drawn: draw(new Set(own.map((file) => boxIn(folder, file)!)), inside),
    flat: draw(new Set(own), imports),
  }
}

/** Whether a cycle includes a folder. Cycles of files are listed separately. */
const holdsFolder = (circle: readonly string[]): boolean => circle.some((member) => !/\.tsx?$/.test(member))

/**
 * Imports against the order in which the fewest run against it, found greedily: the box that imports most of the rest,
 * and is imported least by it, comes next from the top.
 */
function upward(circle: readonly string[], imports: readonly Import[]): Import[] {
  const folder = dirname(circle[0]!)
  const inside = imports.flatMap((one) => {
    const [from, to] = [boxIn(folder, one.from), boxIn(folder, one.to)]
    return from && to && from !== to && circle.includes(from) && circle.includes(to) ? [{ from, to, one }] : []
  })
  const rest = new Set(circle)
  const found: Import[] = []
  while (rest.size > 0) {
    const among = inside.filter(({ from, to }) => rest.has(from) && rest.has(to))
    const weight = (box: string): number =>
      among.filter(({ from }) => from === box).length - among.filter(({ to }) => to === box).length
    const top = [...rest].toSorted((a, b) => weight(b) - weight(a))[0]!
    found.push(...among.filter(({ to }) => to === top).map(({ one }) => one))
    rest.delete(top)
  }
  return found
}

export interface House {
  files: number
  /** `over`: the files that are too long, tests among them. */
  lines: { median: number; p90: number; largest: [string, number]; over: string[] }
  folders: { folder: string; files: number }[]
  rooms: ({ room: string } & Omit<Drawing, 'circles'> & { flat: Omit<Drawing, 'circles'> })[]
  circlesOfFiles: string[][]
  circlesOfFolders: string[][]
  /** The imports that make the circles of folders. */
  up: Import[]
}

export function measure(root: string): House {
  const files = sources(root)
  const imports = readImports(root, files)
  const lines = files.map((file) => [file, lengthOf(root, file)] as const)
  const sorted = lines.toSorted((a, b) => a[1] - b[1])
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]![1]
  const folders = new Set(files.flatMap((file) => parents(file)))
  const measured = [...folders].toSorted().map((folder) => ({ folder, ...room(folder, files, imports) }))
  const circlesOfFolders = measured.flatMap(({ drawn }) => drawn.circles.filter(holdsFolder))
  return {
    files: files.length,
    lines: {
      median: at(0.5),
      p90: at(0.9),
      largest: [...sorted.at(-1)!],
      over: programs(root).filter((file) => lengthOf(root, file) > maxLines(file)),
    },
    folders: fullFolders(root),
    rooms: measured.map(({ folder, drawn, flat }) => ({
      room: folder,
      boxes: drawn.boxes,
      arrows: drawn.arrows,
      floors: drawn.floors,
      flat: { boxes: flat.boxes, arrows: flat.arrows, floors: flat.floors },
    })),
    circlesOfFiles: draw(new Set(files), imports).circles,
    circlesOfFolders,
    up: circlesOfFolders.flatMap((circle) => upward(circle, imports)),
  }
}

/** All handwritten programs, including tests, without data. */
const programs = (root: string): string[] =>
  globSync(
    ['src', 'web/src', 'packages/*/{src,test,compiler}', 'test', 'bench', 'tools'].map((top) => `${top}/**/*.{ts,tsx}`),
    { cwd: root, exclude: (path) => path.endsWith('node_modules') },
  ).filter((file) => !/(^|\/)fixtures\//.test(file))

const maxLines = (file: string): number =>
  /^(src|web|packages)\//.test(file) && !NOT_SOURCE.test(file) && !LONGER.has(file) ? LONG : LONGEST

const lengthOf = (root: string, file: string): number => readFileSync(join(root, file), 'utf8').split('\n').length - 1

/** The number of files in each folder, with tests, highest first. */
function fullFolders(root: string): { folder: string; files: number }[] {
  return Object.entries(Object.groupBy(programs(root), (file) => dirname(file)))
    .map(([folder, files]) => ({ folder, files: files!.length }))
    .toSorted((a, b) => b.files - a.files)
}

const parents = (file: string): string[] => {
  const folders = []
  for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) folders.push(folder)
  return folders
}

function print(house: House, all: boolean): string {
  const lines = [
    `${house.files} files (tests left out); lines: median ${house.lines.median}, p90 ${house.lines.p90}, largest ${house.lines.largest[1]} (${house.lines.largest[0]})`,
    `longer than ${LONG} lines (tests, tools and named files: ${LONGEST}): ${house.lines.over.join(', ') || 'none'}`,
    `folders of more than ${FULL} files: ${
      house.folders
        .filter(({ files }) => files > FULL)
        .map(({ folder, files }) => `${folder} ${files}`)
        .join(', ') || 'none'
    }`,
    `circles of files: ${house.circlesOfFiles.length}`,
    ...house.circlesOfFiles.map((circle) => `  ${circle.join(' ↔ ')}`),
    `circles of folders: ${house.circlesOfFolders.length}`,
    ...house.circlesOfFolders.map((circle) => `  ${circle.join(' ↔ ')}`),
    `imports that run up: ${house.up.length}`,
    ...house.up.map(({ from, to }) => `  ${from} → ${to}`),
    '',
    'room                                      boxes arrows floors   flat: files arrows floors',
    ...house.rooms
      .filter(({ room }) => all || /^(src|web)(\/[^/]+|\/modules\/[^/]+)?$/.test(room))
      .map(({ room, boxes, arrows, floors, flat }) =>
        [
          room.padEnd(42),
          ...cells([boxes, arrows, floors]),
          '  ',
          ...cells([flat.boxes, flat.arrows, flat.floors]),
        ].join(''),
      ),
  ]
  return `${lines.join('\n')}\n`
}

const cells = (numbers: readonly number[]): string[] => numbers.map((number) => String(number).padStart(7))

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      root: { type: 'string' },
      all: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const house = measure(resolve(values.root ?? join(import.meta.dirname, '..')))
  process.stdout.write(values.json ? `${JSON.stringify(house, null, 2)}\n` : print(house, values.all))
}
