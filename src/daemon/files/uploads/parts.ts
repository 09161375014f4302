import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { lstat, mkdir, readFile, readdir, rm, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '#core/errors.ts'
import { type Clock, measureUnused, machineClock } from '../../time/unused.ts'
import { readPath } from '../path.ts'
import { isWriting } from './under-way.ts'
import type { Roots } from '../within.ts'

export const KEPT_MS = 7 * 86_400_000

const DONE = '.done'
/** How long the others have been unchanged. */
const LEFT = 'left.json'

const digest = (...parts: (string | Buffer)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/**
 * Returns the name of an upload's partial file beside the target, unique per upload, so concurrent uploads to one
 * path never mix.
 */
export const partOf = (name: Buffer, key: string): Buffer =>
  Buffer.from(`.uk-upload-${digest(`${key}\0`, name).slice(0, 16)}.part`)

/** Records the partial files of this daemon, in a private folder. No others are removed. */
export interface Parts {
  /** Records a partial file before it is created. `place`: its path, from `pathText`. */
  note(place: string): Promise<void>
  forget(place: string): Promise<void>
  drop(place: string): Promise<void>
  /**
   * Records that the partial file becomes this file. If the response is lost, a retry, even to a later daemon, gets
   * the same result.
   */
  finish(place: string, file: Stats): Promise<void>
  /** Whether the upload became the existing file, unchanged since. */
  became(place: string, there: Stats | null): Promise<boolean>
  /** Removes uploads without new bytes for `KEPT_MS` of machine time. */
  sweep(): Promise<void>
}

export function createParts(roots: Roots, folder: string, clock: () => Clock = machineClock): Parts {
  const fileOf = (place: string): string => join(folder, digest(place).slice(0, 32))
  const wordsOf = ({ ino, size, mtimeMs }: Stats): string => `${ino} ${size} ${mtimeMs}`

  /**
   * Returns a fingerprint that changes with each received byte, or null if the file is missing. Throws if that is
   * unknown.
   */
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
      const records = new Map<string, { place: string | null; words: string }>()
      for (const name of await readdir(folder).catch(() => [])) {
        if (name.startsWith(LEFT)) continue
        if (name.endsWith(DONE)) {
          records.set(name, { place: null, words: await readFile(join(folder, name), 'utf8').catch(() => '') })
          continue
        }
        const place = await readFile(join(folder, name), 'utf8').catch(() => '')
        // An unreadable file waits for the next sweep.
        const words = place === '' ? null : await lookAt(place).catch(() => undefined)
        if (words === null) await rm(join(folder, name), { force: true })
        else if (words !== undefined) records.set(name, { place, words })
      }
      const words = new Map([...records].map(([name, one]) => [name, one.words]))
      for (const [name, ms] of await measureUnused(join(folder, LEFT), words, clock())) {
        const { place } = records.get(name)!
        if (ms < KEPT_MS || (place !== null && isWriting(place))) continue
        if (place !== null) await remove(place).catch(() => {})
        await rm(join(folder, name), { force: true })
      }
    },
  }
}
