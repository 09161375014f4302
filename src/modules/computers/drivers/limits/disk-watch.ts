/** Used where the kernel doesn't enforce disk limits. */
import type { Id } from '#core/ids.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Driver } from '../driver.ts'
import type { ProcessResult } from '../run.ts'
import { type CloudRow, boxOf, cloudStore } from '../store.ts'

/** The interval, or ten times the last measurement's duration if longer. */
const INTERVAL_MS = 5_000
const INTERVAL_FACTOR = 10
/** Growth allowed to a computer already over its limit, so that its owner can delete files. */
const SLACK_BYTES = 1_048_576

interface Measurement {
  startedAt: number
  before: number
  used: number
  lookAt: number
}

export interface DiskWatch {
  /** Returns the bytes if they exceed both the limit and the size at the start. */
  beyond(row: CloudRow, driver: Driver): number | null
  forget(id: Id): void
}

export function watchDisks(db: Db, failed: (error: unknown, id: Id) => void): DiskWatch {
  const measurements = new Map<Id, Measurement>()
  let measuring = false

  async function measure(row: CloudRow, driver: Driver, one: Measurement): Promise<void> {
    const from = performance.now()
    const used = await driver.used(boxOf(row))
    one.lookAt = performance.now() + Math.max(INTERVAL_MS, INTERVAL_FACTOR * (performance.now() - from))
    if (used === null) return
    one.used = used
    await cloudStore.set(db, row.computer_id, { disk_used_bytes: BigInt(used) })
  }

  return {
    beyond(row, driver) {
      if (row.disk_mb === null) return null
      const id = row.computer_id
      const startedAt = row.started_at?.getTime() ?? 0
      let one = measurements.get(id)
      if (one?.startedAt !== startedAt) {
        const before = Number(row.disk_used_bytes ?? 0)
        measurements.set(id, (one = { startedAt, before, used: before, lookAt: 0 }))
      }
      if (!measuring && performance.now() >= one.lookAt) {
        measuring = true
        void measure(row, driver, one)
          .catch((error: unknown) => failed(error, id))
          .finally(() => (measuring = false))
      }
      return one.used > row.disk_mb * 1_048_576 && one.used > one.before + SLACK_BYTES ? one.used : null
    },
    forget: (id) => void measurements.delete(id),
  }
}

/** du(1) exits with 1 when files vanish while it runs. */
export function totalOf({ code, stdout }: Pick<ProcessResult, 'code' | 'stdout'>): number | null {
  const [, bytes] = /^(\d+)\s/.exec(stdout.trimEnd().split('\n').at(-1)!) ?? []
  return (code === 0 || code === 1) && bytes !== undefined ? Number(bytes) : null
}
