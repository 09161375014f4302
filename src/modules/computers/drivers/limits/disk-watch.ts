/**
 * Measures how much cloud computers keep on the disk, one after another: where the kernel does not hold them to it, a
 * server does.
 */
import type { Id } from '#core/ids.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Driver } from '../driver.ts'
import type { Ran } from '../run.ts'
import { type CloudRow, boxOf, cloudStore } from '../store.ts'

/** The time between two looks at one computer; ten times as long as the last took, where that is longer. */
const LOOK_MS = 5_000
const MORE = 10
/**
 * The bytes by which a computer that is over its limit when it is started may still grow: its owner removes things
 * there.
 */
const SLACK_BYTES = 1_048_576

interface Known {
  /** The start of the computer to which this belongs. */
  startedAt: number
  /** The bytes that the computer had when it was started. */
  before: number
  used: number
  lookAt: number
}

export interface DiskWatch {
  /**
   * Measures a running computer when it is time to. Answers its bytes if they are more than it may have and more than
   * it began with.
   */
  beyond(row: CloudRow, driver: Driver): number | null
  forget(id: Id): void
}

export function watchDisks(db: Db, failed: (error: unknown, id: Id) => void): DiskWatch {
  const known = new Map<Id, Known>()
  let measuring = false

  async function measure(row: CloudRow, driver: Driver, one: Known): Promise<void> {
    const from = performance.now()
    const used = await driver.used(boxOf(row))
    one.lookAt = performance.now() + Math.max(LOOK_MS, MORE * (performance.now() - from))
    if (used === null) return
    one.used = used
    await cloudStore.set(db, row.computer_id, { disk_used_bytes: BigInt(used) })
  }

  return {
    beyond(row, driver) {
      if (row.disk_mb === null) return null
      const id = row.computer_id
      const startedAt = row.started_at?.getTime() ?? 0
      let one = known.get(id)
      if (one?.startedAt !== startedAt) {
        const before = Number(row.disk_used_bytes ?? 0)
        known.set(id, (one = { startedAt, before, used: before, lookAt: 0 }))
      }
      if (!measuring && performance.now() >= one.lookAt) {
        measuring = true
        void measure(row, driver, one)
          .catch((error: unknown) => failed(error, id))
          .finally(() => (measuring = false))
      }
      return one.used > row.disk_mb * 1_048_576 && one.used > one.before + SLACK_BYTES ? one.used : null
    },
    forget: (id) => void known.delete(id),
  }
}

/**
 * The bytes that du(1) found; null: none. It ends with 1 where something was removed while it looked: a program that
 * makes and removes files without end is measured by the rest.
 */
export function totalOf({ code, stdout }: Pick<Ran, 'code' | 'stdout'>): number | null {
  const [, bytes] = /^(\d+)\s/.exec(stdout.trimEnd().split('\n').at(-1)!) ?? []
  return (code === 0 || code === 1) && bytes !== undefined ? Number(bytes) : null
}
