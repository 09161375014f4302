import { createHash } from 'node:crypto'
import type { Stats } from 'node:fs'
import { lstat, mkdir, readFile, readdir, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Refusal } from '#kernel/errors.ts'
import { readPath } from './path.ts'
import { isWriting } from './under-way.ts'
import type { Roots } from './within.ts'

/** An upload that nobody went on with for so long is given up. */
export const KEPT_MS = 7 * 86_400_000

/** Ends the names of those that became a file. */
const DONE = '.done'

const digest = (...parts: (string | Buffer)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/** The name of the file beside its place that an upload grows in: one per upload, so that two to one path never mix. */
export const partOf = (name: Buffer, key: string): Buffer =>
  Buffer.from(`.uk-upload-${digest(`${key}\0`, name).slice(0, 16)}.part`)

/** Which parts this daemon began and has not put in their place, kept in a folder of its own: it removes no others. */
export interface Parts {
  /** Before it is made. `place` is its path, as `pathText` says it. */
  note(place: string): Promise<void>
  /** It is one no more. */
  forget(place: string): Promise<void>
  /** It becomes this file now: its end may never be heard of, and is asked for again, of a daemon after this one, too. */
  finish(place: string, file: Stats): Promise<void>
  /** Whether it became the file that is there, which nobody has changed since. */
  became(place: string, there: Stats | null): Promise<boolean>
  /** Removes those whose last byte came more than `KEPT_MS` ago. */
  sweep(): Promise<void>
}

export function createParts(roots: Roots, folder: string): Parts {
  const fileOf = (place: string): string => join(folder, digest(place).slice(0, 32))
  const wordsOf = ({ ino, size, mtimeMs }: Stats): string => `${ino} ${size} ${mtimeMs}`

  /** True where it is gone, or was. */
  async function isOver(place: string): Promise<boolean> {
    if (isWriting(place)) return false
    try {
      const { folder: holder, name } = await roots.openParent(readPath(place))
      await using _holder = holder
      const stats = await lstat(holder.at(name))
      if (!stats.isFile()) return true
      if (stats.mtimeMs > Date.now() - KEPT_MS) return false
      await unlink(holder.at(name))
      return true
    } catch (error) {
      if (error instanceof Refusal) return error.code === 'not_found'
      return error instanceof Error && 'code' in error && error.code === 'ENOENT'
    }
  }

  return {
    async note(place) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(fileOf(place), place, { mode: 0o600 })
    },
    forget: (place) => rm(fileOf(place), { force: true }),
    finish: (place, file) => writeFile(`${fileOf(place)}${DONE}`, wordsOf(file), { mode: 0o600 }),
    async became(place, there) {
      if (there === null) return false
      return (await readFile(`${fileOf(place)}${DONE}`, 'utf8').catch(() => '')) === wordsOf(there)
    },
    async sweep() {
      for (const each of await readdir(folder).catch(() => [])) {
        if (each.endsWith(DONE)) {
          const { mtimeMs } = await stat(join(folder, each))
          if (mtimeMs < Date.now() - KEPT_MS) await rm(join(folder, each), { force: true })
          continue
        }
        const place = await readFile(join(folder, each), 'utf8').catch(() => '')
        if (place === '' || (await isOver(place))) await rm(join(folder, each), { force: true })
      }
    },
  }
}
