import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
/** Several databases of 12 MB each, and a PostgreSQL log of up to 512 MB. */
const ENOUGH_BYTES = 2 ** 32

/** The folder for a run's databases: in memory if enough is free, because they are temporary. */
export function roomForRun(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize >= ENOUGH_BYTES) return MEMORY
  } catch {
    // Not available on this system.
  }
  return tmpdir()
}
