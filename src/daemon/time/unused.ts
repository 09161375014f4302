/**
 * Measures how long files have been unused, with a clock that is never set: a jump of the wall clock neither deletes
 * files in use nor keeps others forever.
 */
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { bootId } from '../machine.ts'
import { uptimeMs } from './uptime.ts'

/** The machine's clock; restarts at each boot. */
export interface Clock {
  boot: string | null
  ms: number
}

export const machineClock = (): Clock => ({ boot: bootId(), ms: uptimeMs() })

const StoredRecord = z.object({
  boot: z.string().nullable(),
  /** The time of the last measurement. */
  ms: z.number(),
  things: z.record(z.string(), z.object({ words: z.string(), ms: z.number() })),
})

/**
 * Records the current items, each with a fingerprint that changes on use. Returns for how many milliseconds each
 * has been unchanged, not counting time the machine was off. `file` stores the state between calls.
 */
export async function measureUnused(
  file: string,
  things: ReadonlyMap<string, string>,
  { boot, ms }: Clock = machineClock(),
): Promise<Map<string, number>> {
  const before = await readRecord(file)
  const passed = before !== null && before.boot === boot ? Math.max(0, ms - before.ms) : 0
  const unusedMs = new Map(
    [...things].map(([name, words]) => {
      const entry = before?.things[name]
      return [name, entry?.words === words ? entry.ms + passed : 0]
    }),
  )
  const entries = [...things].map(([name, words]) => [name, { words, ms: unusedMs.get(name)! }])
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await writeFile(`${file}.next`, JSON.stringify({ boot, ms, things: Object.fromEntries(entries) }), { mode: 0o600 })
  await rename(`${file}.next`, file)
  return unusedMs
}

/** An unreadable file restarts the measurement, so items are kept longer. */
async function readRecord(file: string): Promise<z.infer<typeof StoredRecord> | null> {
  try {
    return StoredRecord.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    return null
  }
}
