import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
/** Some databases at a time have 12 MB each, and a log of a PostgreSQL grows to 512 MB. */
const ENOUGH_BYTES = 2 ** 32

/** The folder for a run's databases: they end with it and need no disk to wait for, if there is memory to spare. */
export function roomForRun(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize >= ENOUGH_BYTES) return MEMORY
  } catch {
    // A system without it.
  }
  return tmpdir()
}
