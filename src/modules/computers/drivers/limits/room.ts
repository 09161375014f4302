/** Room on the host's disk while homes are packed and unpacked. */
import { statfs } from 'node:fs/promises'
import { DriverFault } from '../driver.ts'

/** The longest time that a home is held still, or filled, whatever is in it. */
export const LONGEST_MS = 1_800_000
/** The bytes after which room is looked at again; as many stay for others. */
const LOOK_BYTES = 64 * 1_048_576
const SPARE_BYTES = 1_073_741_824

/** The refusal where the disk has no room for a home. */
export class NoRoom extends DriverFault {
  readonly freeBytes: number
  readonly neededBytes: number | null
  constructor(message: string, freeBytes: number, neededBytes: number | null = null) {
    super(message)
    this.freeBytes = freeBytes
    this.neededBytes = neededBytes
  }
}

/** The bytes that a folder's disk has for computers: less than what stays for others. */
export async function roomIn(folder: string): Promise<number> {
  const { bavail, bsize, blocks } = await statfs(folder)
  return Math.max(0, Math.floor(bavail * bsize - Math.min(SPARE_BYTES, (blocks * bsize) / 20)))
}

/** The bytes of a `tar` as they are packed or unpacked, as long as the disk of the folder has room for them. */
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
