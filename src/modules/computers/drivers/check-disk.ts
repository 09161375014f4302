import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { cloudStore } from './store.ts'

/** Compares with the last measurement. Paired computers check their own disks. */
export async function checkDisk(ctx: Context, computerId: Id, neededBytes: number): Promise<void> {
  const disk = await cloudStore.disk(ctx.db, computerId)
  if (disk === null) return
  const free = Math.max(0, disk.limit - disk.used)
  if (neededBytes > free)
    refuse('storage_full', {
      message: `The computer’s disk limit is ${disk.limit} bytes and ${disk.used} are used, so ${neededBytes} more don’t fit.`,
      details: { free_bytes: free, needed_bytes: neededBytes },
    })
}
