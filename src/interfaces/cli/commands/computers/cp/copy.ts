import { Stop } from '../../../exit.ts'
import { type FileEntry, type Side, type Sink, type Source, below, isSame } from './ends.ts'
import { exists, isPart } from './here.ts'
import { lossesOf } from './losses.ts'
import type { Progress } from '../../../output/progress.ts'

const AT_ONCE = 4

export interface Copying {
  from: Side
  to: Side
  force: boolean
  progress: Progress
  say(line: string): void
}

export async function copyContent(source: Source, sink: Sink, name: string, progress: Progress): Promise<void> {
  const losses = lossesOf()
  if (sink.announces) await source.measure()
  let from = await sink.begun(source)
  const transfer = progress.begins(name, source.size, from)
  for (;;)
    try {
      await sink.write(source, from, (at) => {
        losses.over()
        transfer.at(at)
      })
      return transfer.ended()
    } catch (error) {
      await losses.outlast(error)
      from = await sink.begun(source)
      transfer.at(from)
    }
}

/** Copies a file. Skips it if the target has the same size and time. */
export async function copyFile(
  { from, to, force, progress }: Copying,
  [source, found]: [Buffer, FileEntry],
  [target, there]: [Buffer, FileEntry | null],
  beside: readonly Buffer[] | null = null,
): Promise<void> {
  const content = from.source(source, found)
  if (there?.type === 'folder') throw new Stop('conflict', `${to.called(target)} is a folder.`)
  if (there !== null && isSame(there, content)) return
  if (there !== null && !force) throw exists(to.called(target))
  await copyContent(content, to.sink(target, { force, beside }), from.called(source), progress)
}

/** Copies a folder's content into another folder, created if missing. Returns the number of skipped entries. */
export async function copyFolder(copying: Copying, source: Buffer, target: Buffer): Promise<number> {
  const { from, to, say } = copying
  if (`${to.called(target)}/`.startsWith(`${from.called(source)}/`))
    throw new Stop('usage', `Can't copy ${from.called(source)} into itself.`)
  const turns = turnsOf(AT_ONCE)
  let skipped = 0
  const leave = (path: Buffer, why: string): void => {
    skipped++
    say(`Skipped ${from.called(path)}: ${why}.`)
  }
  await enter(source, target)
  await turns.all()
  return skipped

  async function enter(folder: Buffer, place: Buffer): Promise<void> {
    const there = await placeOf(place)
    const parts = [...there.values()].map(({ name }) => name).filter(isPart)
    for await (const entry of from.list(folder)) {
      checkName(entry.name)
      const path = below(folder, entry.name)
      const goal = below(place, entry.name)
      if (isPart(entry.name)) leave(path, 'it belongs to another unfinished copy')
      else if (entry.type === 'folder') await enter(path, goal)
      else if (entry.type === 'file')
        await turns.take(() => copyFile(copying, [path, entry], [goal, there.get(keyOf(entry.name)) ?? null], parts))
      else if (entry.type === 'symlink') await behind(path, goal, there)
      else leave(path, 'not a file or folder')
    }
  }

  /** Follows a symlink to a file, as scp(1) does. One to a folder could form a cycle. */
  async function behind(path: Buffer, goal: Buffer, there: ReadonlyMap<string, FileEntry>): Promise<void> {
    const entry = await from.look(path).catch((error: unknown) => {
      leave(path, error instanceof Error ? `symlink, ${error.message}` : 'symlink')
      return 'refused' as const
    })
    if (entry === 'refused') return
    if (entry === null) return leave(path, 'broken symlink')
    if (entry.type !== 'file') return leave(path, "symlink that doesn't point to a file")
    await turns.take(() => copyFile(copying, [path, entry], [goal, there.get(keyOf(entry.name)) ?? null]))
  }

  async function placeOf(place: Buffer): Promise<Map<string, FileEntry>> {
    const entry = await to.look(place)
    if (entry === null) await to.makeFolder(place)
    else if (entry.type !== 'folder') throw new Stop('conflict', `${to.called(place)} isn't a folder.`)
    const rows = new Map<string, FileEntry>()
    if (entry !== null) for await (const row of to.list(place)) rows.set(keyOf(row.name), row)
    return rows
  }
}

const keyOf = (name: Buffer): string => name.toString('latin1')

/** Limits concurrency. The first failure stops it. */
function turnsOf(most: number) {
  const open = new Set<Promise<void>>()
  let failed: { error: unknown } | null = null
  const check = (): void => {
    if (failed !== null) throw failed.error
  }
  return {
    async take(work: () => Promise<void>): Promise<void> {
      while (open.size >= most) await Promise.race(open)
      check()
      const one: Promise<void> = work()
        .catch((error: unknown) => void (failed ??= { error }))
        .finally(() => open.delete(one))
      open.add(one)
    },
    async all(): Promise<void> {
      await Promise.all(open)
      check()
    },
  }
}

/** Names from a computer become local names: reject path traversal. */
function checkName(name: Buffer): void {
  if (name.length === 0 || name.includes(0x2f) || name.includes(0) || /^\.{1,2}$/.test(name.toString('latin1')))
    throw new Stop('failure', 'The computer listed an invalid file name.')
}
