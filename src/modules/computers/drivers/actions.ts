/** Actions only update rows. The process managing the host does the work. */
import type { Input } from '#core/contract.ts'
import type { Context } from '#infra/context.ts'
import { insertResource } from '#authz/resources.ts'
import { writeAudit } from '#authz/audit.ts'
import { checkPlace } from '#authz/place.ts'
import { defineOperation, startOperation } from '#modules/operations/service.ts'
import { Refusal, absent, refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { membershipIn } from '#core/principal.ts'
import type { cloudComputers } from '../contract-cloud.ts'
import { vouchesIn } from '../access.ts'
import { publishEvent } from '../events.ts'
import type { HasLinks } from '../link/links.ts'
import { change, checkRoom } from '../manage.ts'
import { showComputer } from '../show.ts'
import { type Lifecycle, computerStore } from '../store.ts'
import type { HasCloud } from './handle.ts'
import { checkAttended, checkCloud } from './check-cloud.ts'
import { ALLOWED } from './reconcile/daemon-start.ts'
import { POKE } from './reconcile/reconcile.ts'
import { snapshotStore } from './snapshot-store.ts'
import { cloudStore, move } from './store.ts'

type Create = (typeof cloudComputers)['endpoints']['create']
type Ctx = Context<HasLinks & HasCloud>

export async function create(ctx: Ctx, input: Input<Create>) {
  const {
    name,
    image: requestedImage,
    cpu,
    memory_mb,
    processes,
    disk_mb,
    network,
    idle_stop_seconds,
    from_snapshot,
  } = input
  const { driver, probe } = await chooseDriver(ctx, input.driver)
  const image = requestedImage ?? probe.images[0]!
  if (!probe.images.includes(image))
    unknown('image', `\`${image}\` isn’t an available image of \`${driver.name}\`.`, probe.images)
  if (!probe.network.includes(network))
    unknown('network', `\`${driver.name}\` doesn’t support \`${network}\` here. ${probe.reason ?? ''}`, probe.network)
  const workspaceId = ctx.workspace!.id
  const background = await ctx.transaction(async (ctx) => {
    await checkRoom(ctx, workspaceId, 'cloud')
    if (from_snapshot !== undefined) await checkSnapshot(ctx, from_snapshot, disk_mb)
    const id = newId()
    await insertResource(ctx, { id, kind: 'computer', workspace_id: workspaceId })
    await computerStore.insert(ctx.db, {
      id,
      kind: 'cloud',
      name,
      os: process.platform,
      arch: process.arch,
      hostname: null,
      daemon_version: null,
      protocol: null,
      allows: ALLOWED,
      vouched: vouchesIn(ctx.principal, workspaceId),
      lifecycle: 'provisioning',
      driver: driver.name,
      image,
      limits: {
        cpu,
        memory_mb,
        processes,
        enforced: probe.limitsEnforced,
        disk_mb,
        disk_enforced: probe.diskLimitsEnforced,
      },
    })
    await cloudStore.insert(ctx.db, {
      computer_id: id,
      driver: driver.name,
      host: ctx.engine.cloud.hostId,
      image,
      cpu,
      memory_mb,
      processes,
      disk_mb,
      network,
      idle_stop_seconds,
      from_snapshot: from_snapshot ?? null,
    })
    const row = (await computerStore.get(ctx.db, id))!
    await publishEvent(ctx, 'created', row)
    await writeAudit(ctx, {
      action: 'computer.made',
      workspaceId,
      subject: { type: 'computer', id },
      details: { name, driver: driver.name, image, network },
    })
    ctx.afterCommit(() => ctx.engine.bus.poke(POKE))
    return startOperation(
      ctx,
      createOperation,
      { computer_id: id },
      { resource: { type: 'computer', id }, workspaceId },
    )
  })
  return background
}

async function chooseDriver(ctx: Ctx, name: string | undefined) {
  const probes = await ctx.engine.cloud.probes()
  const match =
    name === undefined ? probes.find(({ probe }) => probe.available) : probes.find(({ driver }) => driver.name === name)
  if (match === undefined && name !== undefined)
    unknown(
      'driver',
      `\`${name}\` isn’t an available driver.`,
      probes.map(({ driver }) => driver.name),
    )
  if (match?.probe.available) return match
  const reasons = Object.fromEntries(probes.map(({ driver, probe }) => [driver.name, probe.reason]))
  return refuse('not_supported', {
    param: 'driver',
    message:
      `Cloud computers aren’t available on this instance. ${match?.probe.reason ?? Object.values(reasons).join(' ')}`.trim(),
    details: { reasons },
  })
}

const unknown = (param: string, message: string, allowed: readonly string[]): never =>
  refuse('invalid_parameter', { param, message: message.trim(), details: { allowed } })

async function checkSnapshot(ctx: Ctx, id: Id, diskMb: number | null): Promise<void> {
  const row = await snapshotStore.get(ctx.db, id)
  const place = row && membershipIn(ctx.principal, row.workspace_id)
  if (row === null || place === null)
    return refuse('not_found', { param: 'from_snapshot', message: absent('snapshot') })
  // A clone contains everything, so it takes permission to change its computer.
  checkPlace(place, 'computer:write')
  if (row.status !== 'ready')
    refuse('invalid_state', {
      param: 'from_snapshot',
      message: `The snapshot’s status is \`${row.status}\`. It must be \`ready\`.`,
      details: { status: row.status, allowed: ['ready'] },
    })
  const neededBytes = Number(row.home_bytes ?? 0)
  const room = Math.min(await ctx.engine.cloud.room(), diskMb === null ? Infinity : diskMb * 1_048_576)
  if (neededBytes > room)
    refuse('storage_full', {
      param: 'from_snapshot',
      message: `The home in this snapshot needs ${neededBytes} bytes, and ${room} are available.`,
      details: { free_bytes: room, needed_bytes: neededBytes },
    })
}

const PATIENCE_SECONDS = 600

export const createOperation = defineOperation<{ computer_id: Id }, HasLinks & HasCloud>(
  'computers.create',
  async (ctx, { computer_id }, operation) => {
    for (;;) {
      // Woken by the host's manager. Pokes can be lost.
      const woken = nextPoke(ctx, operation.signal)
      const row = await computerStore.get(ctx.db, computer_id)
      if (row === null) return refuse('not_found', { message: 'The computer was deleted while it was being created.' })
      if (row.lifecycle === 'error')
        throw new Refusal('not_supported', {
          message: row.reason ?? 'The computer couldn’t be created.',
          details: { computer_id },
        })
      if (row.lifecycle !== 'provisioning' && row.lifecycle !== 'starting')
        return { result: showComputer(ctx.principal, row), resource: { type: 'computer', id: computer_id } }
      await woken
      operation.signal.throwIfAborted()
    }
  },
  { repeatable: true, attempts: 100, scope: 'computer:write', expiresInSeconds: PATIENCE_SECONDS },
)

const LOOK_MS = 1_000

function nextPoke(ctx: Context, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer)
      woken[Symbol.dispose]()
      signal.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, LOOK_MS)
    const woken = ctx.engine.bus.on(POKE, finish)
    signal.addEventListener('abort', finish, { once: true })
  })
}

export const start = (ctx: Ctx, id: Id) =>
  ask(ctx, id, 'starting', ['stopped', 'error'], ['provisioning', 'starting', 'running'])
export const stop = (ctx: Ctx, id: Id) =>
  ask(ctx, id, 'stopping', ['provisioning', 'starting', 'running', 'error'], ['stopping', 'stopped'])

async function ask(ctx: Ctx, id: Id, to: Lifecycle, from: readonly Lifecycle[], holds: readonly Lifecycle[]) {
  const { cloud } = ctx.engine
  const row = await change(ctx, id, 'member', async (ctx, before) => {
    checkCloud(before, to === 'starting' ? 'started' : 'stopped')
    if (holds.includes(before.lifecycle)) return before
    const { host } = (await cloudStore.get(ctx.db, id))!
    await checkAttended(ctx.db, cloud, host, before.lifecycle)
    if (!(await move(ctx.db, id, from, to)))
      refuse('invalid_state', {
        message: `The computer is \`${before.lifecycle}\`. It must be one of \`${from.join('`, `')}\`.`,
        details: { status: before.lifecycle, allowed: from },
      })
    ctx.afterCommit(() => {
      ctx.engine.bus.poke('outbox')
      ctx.engine.bus.poke(POKE)
    })
    return (await computerStore.get(ctx.db, id))!
  })
  return showComputer(ctx.principal, row)
}
