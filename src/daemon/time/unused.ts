/**
 * How long things on disk have been left as they are, by a clock that nobody sets: a time of day that jumps ahead takes away
 * nothing that is in use, and one that is set back keeps nothing for ever.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { bootId } from '../machine.ts'
import { uptimeMs } from './uptime.ts'

/** The machine's own clock: it begins anew with each start of the machine. */
export interface Clock {
  boot: string | null
  ms: number
}

export const machineClock = (): Clock => ({ boot: bootId(), ms: uptimeMs() })

const Kept = z.object({
  boot: z.string().nullable(),
  /** When it was looked at last. */
  ms: z.number(),
  things: z.record(z.string(), z.object({ words: z.string(), ms: z.number() })),
})

/**
 * Notes what is there now: each thing with words that change when it is used. Answers how many milliseconds each has been
 * left as it is. What passed while the machine was off is not counted. `file` is where that is kept from one look to the next.
 */
export async function leftFor(
  file: string,
  things: ReadonlyMap<string, string>,
  { boot, ms }: Clock = machineClock(),
): Promise<Map<string, number>> {
  const before = await read(file)
  const passed = before !== null && before.boot === boot ? Math.max(0, ms - before.ms) : 0
  const left = new Map(
    [...things].map(([name, words]) => {
      const known = before?.things[name]
      return [name, known?.words === words ? known.ms + passed : 0]
    }),
  )
  const kept = [...things].map(([name, words]) => [name, { words, ms: left.get(name)! }])
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(`${file}.next`, JSON.stringify({ boot, ms, things: Object.fromEntries(kept) }), { mode: 0o600 })
  await rename(`${file}.next`, file)
  return left
}

/** What cannot be read begins anew: everything stays longer by that. */
async function read(file: string): Promise<z.infer<typeof Kept> | null> {
  try {
    return Kept.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return null
  }
}
