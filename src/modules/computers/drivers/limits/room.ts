import { statfs } from 'node:fs/promises'
import { DriverFault } from '../driver.ts'

/** The limit for packing or unpacking a home. */
export const LONGEST_MS = 1_800_000
const LOOK_BYTES = 64 * 1_048_576
const SPARE_BYTES = 1_073_741_824

export class NoRoom extends DriverFault {
  readonly freeBytes: number
  readonly neededBytes: number | null
  constructor(message: string, freeBytes: number, neededBytes: number | null = null) {
    super(message)
    this.freeBytes = freeBytes
    this.neededBytes = neededBytes
  }
}

/** The free bytes of a disk, without the reserve. */
export async function roomIn(folder: string): Promise<number> {
  const { bavail, bsize, blocks } = await statfs(folder)
  return Math.max(0, Math.floor(bavail * bsize - Math.min(SPARE_BYTES, (blocks * bsize) / 20)))
}

export async function* whileRoom(tar: AsyncIterable<Buffer>, folder: string): AsyncGenerator<Buffer> {
  let since = LOOK_BYTES
  for await (const part of tar) {
    since += part.length
    if (since >= LOOK_BYTES) {
      since = 0
      if ((await roomIn(folder)) === 0)
        throw new NoRoom('The host’s disk has no room for the snapshot. The remaining space is reserved.', 0)
    }
    yield part
  }
}
