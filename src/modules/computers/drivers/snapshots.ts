/** Homes are packed while paused, stored as blobs, and verified by reading them back. */
import { createHash } from 'node:crypto'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import type { Context, Engine } from '#infra/context.ts'
import { keepBlob, readBlob } from '#infra/blobs/keep.ts'
import { writeAudit } from '#authz/audit.ts'
import { defineOperation, startOperation } from '#modules/operations/service.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { iso } from '#core/time.ts'
import { change } from '../manage.ts'
import { checkAttended, checkCloud } from './check-cloud.ts'
import type { HasCloud } from './handle.ts'
import { type Driver, DriverFault } from './driver.ts'
import { type SnapshotRow, snapshotStore } from './snapshot-store.ts'
import { NoRoom, whileRoom } from './limits/room.ts'
import { boxOf, cloudStore } from './store.ts'

/** The states in which a home is complete. */
const COMPLETE_STATES = ['running', 'stopped', 'error']

export async function snapshot(ctx: Context<HasCloud>, id: Id, name: string | null) {
  const { cloud } = ctx.engine
  return change(ctx, id, 'member', async (ctx, row) => {
    checkCloud(row, 'saved in snapshots')
    const { made, host } = (await cloudStore.get(ctx.db, id))!
    await checkAttended(ctx.db, cloud, host, row.lifecycle)
    if (!made || !COMPLETE_STATES.includes(row.lifecycle))
      refuse('invalid_state', {
        message: `The computer is \`${row.lifecycle}\`. It must be one of \`${COMPLETE_STATES.join('`, `')}\`.`,
        details: { status: row.lifecycle, allowed: COMPLETE_STATES },
      })
    if (await snapshotStore.underWay(ctx.db, id))
      refuse('invalid_state', {
        message: 'A snapshot of this computer is already being created. Wait for it to finish.',
        details: { status: 'creating', allowed: ['ready', 'failed'] },
      })
    const snapshotRow = await snapshotStore.insert(ctx.db, {
      id: newId(),
      workspace_id: row.workspace_id,
      computer_id: id,
      computer_name: row.name,
      name,
      created_by: ctx.principal.accountId,
    })
    const about = { resource: { type: 'computer_snapshot', id: snapshotRow.id }, workspaceId: row.workspace_id }
    return startOperation(ctx, snapshotOperation, { computer_id: id, snapshot_id: snapshotRow.id, host }, about)
  })
}

export const snapshotOperation = defineOperation<{ computer_id: Id; snapshot_id: Id; host?: string }, HasCloud>(
  'computers.snapshot',
  async (ctx, { computer_id, snapshot_id }, operation) => {
    try {
      return { result: showSnapshot(await make(ctx, computer_id, snapshot_id, operation.signal)) }
    } catch (error) {
      // The server is stopping. Another process repeats the snapshot.
      if (operation.signal.aborted && !operation.cancelled.aborted) throw error
      await snapshotStore.finish(ctx.db, snapshot_id, { status: 'failed' })
      if (error instanceof NoRoom)
        refuse('storage_full', {
          message: error.message,
          details: { free_bytes: error.freeBytes, needed_bytes: error.neededBytes },
        })
      if (error instanceof DriverFault) refuse('not_supported', { message: error.message })
      throw error
    }
  },
  { repeatable: true, scope: 'computer:write', host: ({ host }) => host ?? null },
)

async function make(ctx: Context<HasCloud>, computerId: Id, id: Id, signal: AbortSignal): Promise<SnapshotRow> {
  const { engine } = ctx
  const row = await cloudStore.get(ctx.db, computerId)
  if (row === null) return refuse('not_found', { message: 'The computer was deleted.' })
  const driver = await engine.cloud.driver(row.driver)
  if (driver === null || row.host !== engine.cloud.hostId)
    return refuse('not_supported', {
      message: 'The computer’s home is on another host, or its driver isn’t available.',
    })
  const archive = await pack(engine, driver, boxOf(row), signal)
  try {
    const sizeBytes = archive.staged.size
    const { sha256 } = archive.staged
    await ctx.transaction((ctx) => keepBlob(ctx, archive.staged))
    // Reads stored bytes rather than those in memory.
    const content = await verify(engine, sha256)
    if (content.hash !== archive.hash || content.entries !== archive.entries)
      throw new DriverFault(`The snapshot is incomplete: it has ${content.entries} of ${archive.entries} entries.`)
    return await ctx.transaction(async (ctx) => {
      const ready = {
        status: 'ready',
        sha256,
        size_bytes: BigInt(sizeBytes),
        entries: BigInt(content.entries),
        home_bytes: BigInt(content.bytes),
      } as const
      const finishedRow = await snapshotStore.finish(ctx.db, id, ready)
      return finishedRow ?? refuse('not_found', { message: 'The snapshot was deleted while it was being created.' })
    })
  } catch (error) {
    await archive.staged.discard().catch(() => {})
    throw error
  }
}

async function pack(
  { blobs, config }: Pick<Engine, 'blobs' | 'config'>,
  driver: Driver,
  box: Parameters<Driver['pack']>[0],
  signal: AbortSignal,
) {
  const tar = new PassThrough()
  const hash = createHash('sha256')
  const zstd = createZstdCompress()
  const packing = driver.pack(box, tar)
  const compressing = pipeline(
    tar,
    async function* (source: AsyncIterable<Buffer>) {
      for await (const part of whileRoom(source, config.dataDir)) {
        hash.update(part)
        yield part
      }
    },
    zstd,
    { signal },
  )
  // An aborted pack must not look like a complete archive.
  packing.catch((error: unknown) => tar.destroy(error as Error))
  const [staged, { entries }] = await Promise.all([blobs.stage(zstd, { signal }), packing, compressing])
  return { staged, entries, hash: hash.digest('hex') }
}

async function verify(engine: Pick<Engine, 'blobs' | 'postgres'>, sha256: string) {
  const hash = createHash('sha256')
  const { extract } = await import('tar-stream')
  const tar = extract()
  let entries = 0
  let bytes = 0
  tar.on('entry', ({ size }, content, next) => {
    entries++
    bytes += size ?? 0
    content.on('end', next).resume()
  })
  await pipeline(
    Readable.from(readBlob(engine, sha256)),
    createZstdDecompress(),
    async function* (source: AsyncIterable<Buffer>) {
      for await (const part of source) {
        hash.update(part)
        yield part
      }
    },
    tar,
  )
  return { hash: hash.digest('hex'), entries, bytes }
}

export async function readSnapshot(
  engine: Pick<Engine, 'blobs' | 'postgres'>,
  id: Id,
  take: (tar: Readable) => Promise<void>,
): Promise<void> {
  const row = await snapshotStore.get(engine.postgres.db, id)
  if (row?.status !== 'ready' || row.sha256 === null)
    throw new DriverFault('The snapshot to create the home from was deleted.')
  const tar = createZstdDecompress()
  await Promise.all([pipeline(Readable.from(readBlob(engine, row.sha256)), tar), take(tar)])
}

export async function deleteSnapshot(ctx: Context, id: Id): Promise<void> {
  await ctx.transaction(async (ctx) => {
    const row = await snapshotStore.get(ctx.db, id)
    if (row === null) return refuse('not_found', { param: 'id' })
    await snapshotStore.remove(ctx.db, id)
    await writeAudit(ctx, {
      action: 'computer.snapshot_deleted',
      workspaceId: row.workspace_id,
      subject: { type: 'computer', id: row.computer_id },
      details: { snapshot_id: id, name: row.name, computer: row.computer_name },
    })
  })
}

export const showSnapshot = (row: SnapshotRow) => ({
  id: row.id,
  workspace_id: row.workspace_id,
  computer_id: row.computer_id,
  computer_name: row.computer_name,
  name: row.name,
  status: row.status,
  size_bytes: row.size_bytes === null ? null : Number(row.size_bytes),
  entries: row.entries === null ? null : Number(row.entries),
  home_bytes: row.home_bytes === null ? null : Number(row.home_bytes),
  sha256: row.sha256,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})
