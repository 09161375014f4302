import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { lstat, mkdir, readFile, readdir, rm, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '#core/errors.ts'
import { type Clock, leftFor, machineClock } from '../../time/unused.ts'
import { readPath } from '../path.ts'
import { isWriting } from './under-way.ts'
import type { Roots } from '../within.ts'

/** An upload that nobody went on with for so long is given up. */
export const KEPT_MS = 7 * 86_400_000

/** Ends the names of those that became a file. */
const DONE = '.done'
/** How long the others have been left alone. */
const LEFT = 'left.json'

const digest = (...parts: (string | Buffer)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/** The name of the file beside its place that an upload grows in: one per upload, so that two to one path never mix. */
export const partOf = (name: Buffer, key: string): Buffer =>
  Buffer.from(`.uk-upload-${digest(`${key}\0`, name).slice(0, 16)}.part`)

/**
 * The parts that this daemon began and has not put in their place, kept in a folder of its own: it removes no others.
 */
export interface Parts {
  /** Notes a part before it is made. `place` is its path, as `pathText` says it. */
  note(place: string): Promise<void>
  /** Forgets a part that is not one any more. */
  forget(place: string): Promise<void>
  /** Forgets one that becomes no file. */
  drop(place: string): Promise<void>
  /**
   * Notes that a part becomes this file now: its end may never be heard of, and is asked for again, of a daemon after
   * this one, too.
   */
  finish(place: string, file: Stats): Promise<void>
  /** Whether it became the file that is there, which nobody has changed since. */
  became(place: string, there: Stats | null): Promise<boolean>
  /** Removes those to which no byte has come for `KEPT_MS` of this machine's own time. */
  sweep(): Promise<void>
}

export function createParts(roots: Roots, folder: string, clock: () => Clock = machineClock): Parts {
  const fileOf = (place: string): string => join(folder, digest(place).slice(0, 32))
  const wordsOf = ({ ino, size, mtimeMs }: Stats): string => `${ino} ${size} ${mtimeMs}`

  /** A mark that changes with each byte that comes; null: the part is gone. Throws where that cannot be told now. */
  async function lookAt(place: string): Promise<string | null> {
    try {
      const { folder: holder, name } = await roots.openParent(readPath(place))
      await using _holder = holder
      const stats = await lstat(holder.at(name))
      return stats.isFile() ? wordsOf(stats) : null
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null
      if (code === 'ENOENT' || (error instanceof Refusal && error.code === 'not_found')) return null
      throw error
    }
  }

  async function remove(place: string): Promise<void> {
    const { folder: holder, name } = await roots.openParent(readPath(place))
    await using _holder = holder
    await unlink(holder.at(name))
  }

  return {
    async note(place) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(fileOf(place), place, { mode: 0o600 })
    },
    forget: (place) => rm(fileOf(place), { force: true }),
    async drop(place) {
      await rm(fileOf(place), { force: true })
      await rm(`${fileOf(place)}${DONE}`, { force: true })
    },
    finish: (place, file) => writeFile(`${fileOf(place)}${DONE}`, wordsOf(file), { mode: 0o600 }),
    async became(place, there) {
      if (there === null) return false
      return (await readFile(`${fileOf(place)}${DONE}`, 'utf8').catch(() => '')) === wordsOf(there)
    },
    async sweep() {
      const found = new Map<string, { place: string | null; words: string }>()
      for (const name of await readdir(folder).catch(() => [])) {
        if (name.startsWith(LEFT)) continue
        if (name.endsWith(DONE)) {
          found.set(name, { place: null, words: await readFile(join(folder, name), 'utf8').catch(() => '') })
          continue
        }
        const place = await readFile(join(folder, name), 'utf8').catch(() => '')
        // What cannot be looked at now is, at the next sweep.
        const words = place === '' ? null : await lookAt(place).catch(() => undefined)
        if (words === null) await rm(join(folder, name), { force: true })
        else if (words !== undefined) found.set(name, { place, words })
      }
      const words = new Map([...found].map(([name, one]) => [name, one.words]))
      for (const [name, ms] of await leftFor(join(folder, LEFT), words, clock())) {
        const { place } = found.get(name)!
        if (ms < KEPT_MS || (place !== null && isWriting(place))) continue
        if (place !== null) await remove(place).catch(() => {})
        await rm(join(folder, name), { force: true })
      }
    },
  }
}
