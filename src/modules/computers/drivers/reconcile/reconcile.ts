/**
 * Reconciles the cloud computers of one host with their rows. One server process does it at a time, under a lease. The
 * rows are its only state, so that another process can continue when it is killed.
 */
import type { Engine } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import { createTurns } from '#packages/fair-queue/turns.ts'
import { startRounds } from '#infra/bus/rounds.ts'
import type { Lease, Leases } from '#infra/processes/leases.ts'
import type { Id } from '#core/ids.ts'
import type { HasLinks } from '../../link/links.ts'
import type { Lifecycle } from '../../store.ts'
import { type Driver, DriverFault } from '../driver.ts'
import { watchDisks } from '../limits/disk-watch.ts'
import { snapshotStore } from '../snapshot-store.ts'
import { comesOnline, stateFileOf } from './daemon-start.ts'
import { readSnapshot } from '../snapshots.ts'
import { type CloudRow, type RemainsRow, boxOf, cloudStore, leaseOf, move } from '../store.ts'
import { shorten } from '#core/text/shorten.ts'

/** The bus topic that wakes the loop. */
export const POKE = 'cloud_computers'
const POLL_MS = 2_000
/** Computers started or removed at once: in all, and per workspace. */
const MAX_AT_ONCE = 8
const MAX_OF_ONE = 6
/** A computer that exits this often in a row, each time within `A_WHILE_MS`, isn't restarted. */
const MAX_DEATHS = 3
const A_WHILE_MS = 60_000

const RESTS: readonly Lifecycle[] = ['stopped', 'error']

const STARTS: readonly Lifecycle[] = ['provisioning', 'starting']
/** The queue of computers to remove. */
const REMOVALS = 'removals'

export interface ReconcilerParts {
  engine: Engine<HasLinks>
  leases: Leases
  hostId: string
  /** The drivers available on this host, by name. */
  drivers: ReadonlyMap<string, Driver>
}

/** Starts the loop that brings the host's cloud computers to the state in their rows. */
export const reconcileComputers = (parts: ReconcilerParts): AsyncDisposable => new Reconciler(parts)

class Reconciler implements AsyncDisposable {
  readonly #engine: ReconcilerParts['engine']
  readonly #db: Db
  readonly #leases: Leases
  readonly #hostId: string
  readonly #drivers: ReadonlyMap<string, Driver>
  readonly #busy = new Map<Id, Promise<void>>()
  /** The computers that this process has started or adopted since it took the lease. */
  readonly #ownIds = new Set<Id>()
  readonly #disks: ReturnType<typeof watchDisks>
  readonly #stopping = new AbortController()
  #watching: Promise<void> | null = null
  readonly #turns = createTurns({
    atOnce: MAX_AT_ONCE,
    each: MAX_OF_ONE,
    waitingEach: Infinity,
    waiting: Infinity,
  })
  #lease: Lease | null = null
  readonly #rounds: ReturnType<typeof startRounds>

  constructor({ engine, leases, hostId, drivers }: ReconcilerParts) {
    this.#engine = engine
    this.#db = engine.postgres.db
    this.#leases = leases
    this.#hostId = hostId
    this.#drivers = drivers
    this.#disks = watchDisks(this.#db, (error, id) =>
      engine.log.warn({ error, computer_id: id }, 'the disk of a cloud computer was not measured'),
    )
    this.#rounds = startRounds(
      { bus: engine.bus, poke: POKE, pollMs: POLL_MS },
      () => this.#round(),
      (error) => engine.log.error({ error }, 'cloud computers could not be checked'),
    )
  }

  async #round(): Promise<void> {
    if (this.#lease?.signal.aborted) await this.#stepDown()
    if (this.#lease === null) {
      this.#lease = await this.#leases.acquire(leaseOf(this.#hostId))
      if (this.#lease === null) return
      await this.#endStrays()
    }
    for (const id of await snapshotStore.abandon(this.#db, this.#hostId)) await this.#goOn(id)
    const rows = await cloudStore.atWork(this.#db, this.#hostId)
    for (const { computer_id: id, workspace_id, lifecycle } of rows)
      if (lifecycle !== 'running')
        this.#begin(id, STARTS.includes(lifecycle) ? workspace_id : null, () => this.#attend(id))
    for (const row of await cloudStore.remains(this.#db, this.#hostId))
      this.#begin(row.computer_id, REMOVALS, () => this.#remove(row))
    this.#watching ??= this.#watchAll(rows.filter((row) => row.lifecycle === 'running')).finally(
      () => (this.#watching = null),
    )
  }

  /** Checks running computers one by one, so that they don't delay starts and stops. */
  async #watchAll(rows: readonly CloudRow[]): Promise<void> {
    for (const { computer_id: id } of rows) {
      if (this.#stopping.signal.aborted) return
      if (!this.#busy.has(id)) await this.#attempt(id, () => this.#attend(id))
    }
  }

  /** Stops programs on this host that no row wants running. Their files stay. */
  async #endStrays(): Promise<void> {
    for (const driver of this.#drivers.values())
      for (const id of await driver.found()) {
        const row = await cloudStore.get(this.#db, id)
        if (row?.driver === driver.name && !RESTS.includes(row.lifecycle)) continue
        this.#engine.log.warn({ computer_id: id, driver: driver.name }, 'a computer was running that should be stopped')
        await driver.stop({ id, number: row?.number ?? 0n })
      }
  }

  /** Unpauses a computer whose snapshot was abandoned. */
  async #goOn(id: Id): Promise<void> {
    const row = await cloudStore.get(this.#db, id)
    const driver = row && this.#drivers.get(row.driver)
    if (driver && !(await snapshotStore.underWay(this.#db, id))) await driver.adopt(boxOf(row))
  }

  async #stepDown(): Promise<void> {
    await this.#watching
    await Promise.allSettled(this.#busy.values())
    await this.#lease?.[Symbol.asyncDispose]()
    this.#lease = null
    this.#ownIds.clear()
  }

  /** Starts `work` unless the computer is busy: the round after that checks it again. A `queue` limits long work. */
  #begin(id: Id, queue: string | null, work: () => Promise<boolean>): void {
    if (this.#busy.has(id) || this.#stopping.signal.aborted) return
    void this.#attempt(id, queue === null ? work : () => this.#inTurn(queue, work))
  }

  #attempt(id: Id, work: () => Promise<boolean>): Promise<void> {
    const done = work()
      .catch((error: unknown) => {
        this.#engine.log.error({ error, computer_id: id }, 'a cloud computer could not be checked')
        return false
      })
      .then((again) => {
        this.#busy.delete(id)
        if (again && !this.#stopping.signal.aborted) this.#rounds.wake()
      })
    this.#busy.set(id, done)
    return done
  }

  async #inTurn(queue: string, work: () => Promise<boolean>): Promise<boolean> {
    using _turn = await this.#turns.take(queue)
    return this.#stopping.signal.aborted || this.#lease === null || this.#lease.signal.aborted ? false : await work()
  }

  /** Reconciles one computer with its row. Returns whether to check it again at once. */
  async #attend(id: Id): Promise<boolean> {
    const row = await cloudStore.get(this.#db, id)
    if (row === null) return true
    if (this.#lease === null || this.#lease.signal.aborted) return false
    const driver = this.#drivers.get(row.driver)
    if (driver === undefined) {
      if (row.lifecycle !== 'running')
        await this.#fail(row, `The driver \`${row.driver}\` is no longer available on this host.`)
      return false
    }
    switch (row.lifecycle) {
      case 'provisioning':
      case 'starting':
        return this.#start(row, driver)
      case 'stopping':
        return this.#stop(row, driver)
      case 'running':
        return this.#watch(row, driver)
      default:
        return false
    }
  }

  async #start(row: CloudRow, driver: Driver): Promise<boolean> {
    const id = row.computer_id
    const box = boxOf(row)
    try {
      if (!row.made) {
        await driver.create(box)
        if (row.from_snapshot !== null)
          await readSnapshot(this.#engine, row.from_snapshot, (tar) => driver.unpack(box, tar))
        await cloudStore.set(this.#db, id, { made: true })
      }
      // A process that was killed before it wrote the state may have started it.
      const adopted = !this.#ownIds.has(id) && (await driver.lives(box)) && (await this.#engine.links.online(id, 3_000))
      // Another process may have taken the lease meanwhile.
      if (this.#lease === null || this.#lease.signal.aborted) return false
      let epochBefore: bigint | null = null
      if (!adopted) {
        const state = await stateFileOf(this.#db, row)
        // An earlier program can't connect again, because its credential has ended, but it may still have a link.
        epochBefore = await cloudStore.linkEpoch(this.#db, id)
        await driver.start(box, state)
      }
      this.#ownIds.add(id)
      if (!(await comesOnline(this.#engine, row, driver, epochBefore, this.#stopping.signal))) return true
      await this.#to(id, [row.lifecycle], 'running')
      return true
    } catch (error) {
      if (this.#stopping.signal.aborted) return false
      if (!(error instanceof DriverFault))
        this.#engine.log.error({ error, computer_id: id }, 'a cloud computer was not started')
      await driver.stop(box).catch(() => {})
      return this.#fail(row, error instanceof DriverFault ? error.message : 'Something went wrong on our side.')
    }
  }

  async #stop(row: CloudRow, driver: Driver): Promise<boolean> {
    try {
      await driver.stop(boxOf(row))
    } catch (error) {
      if (!(error instanceof DriverFault))
        this.#engine.log.error({ error, computer_id: row.computer_id }, 'a cloud computer was not stopped')
      return this.#fail(row, error instanceof DriverFault ? error.message : 'Something went wrong on our side.')
    }
    this.#ownIds.delete(row.computer_id)
    await cloudStore.set(this.#db, row.computer_id, { deaths: 0 })
    return this.#to(row.computer_id, ['stopping'], 'stopped')
  }

  async #watch(row: CloudRow, driver: Driver): Promise<boolean> {
    const id = row.computer_id
    if (await driver.lives(boxOf(row))) {
      if (!this.#ownIds.has(id)) {
        if (!(await snapshotStore.underWay(this.#db, id))) await driver.adopt(boxOf(row))
        this.#ownIds.add(id)
      }
      const beyond = this.#disks.beyond(row, driver)
      if (beyond !== null) return this.#endFull(row, driver, beyond)
      if (row.idle) return this.#to(id, ['running'], 'stopping')
      return false
    }
    // The computer exited, or the host was restarted.
    const lasted = row.started_at !== null && Date.now() - row.started_at.getTime() > A_WHILE_MS
    const deaths = lasted || !this.#ownIds.has(id) ? 1 : row.deaths + 1
    await cloudStore.set(this.#db, id, { deaths })
    if (deaths >= MAX_DEATHS)
      return this.#fail(
        row,
        `The computer exited unexpectedly ${deaths} times in a row: ${await driver.lastWords(boxOf(row))}`,
      )
    return this.#to(id, ['running'], 'starting')
  }

  /** Stops a computer over its disk limit. It can be started again to delete files: the bytes it has then don't count. */
  async #endFull(row: CloudRow, driver: Driver, used: number): Promise<boolean> {
    await driver.stop(boxOf(row))
    this.#ownIds.delete(row.computer_id)
    return this.#fail(
      row,
      `The computer used ${used} bytes of its disk limit of ${row.disk_mb! * 1_048_576} (\`disk_mb: ${row.disk_mb}\`) and was stopped. Start it and delete files that you don’t need.`,
    )
  }

  async #remove(row: RemainsRow): Promise<boolean> {
    const driver = this.#drivers.get(row.driver)
    if (driver === undefined) return false
    await driver.destroy({ id: row.computer_id, number: row.number })
    this.#ownIds.delete(row.computer_id)
    this.#disks.forget(row.computer_id)
    await cloudStore.removed(this.#db, row.computer_id)
    return false
  }

  async #to(id: Id, from: readonly Lifecycle[], lifecycle: Lifecycle, reason: string | null = null): Promise<boolean> {
    const moved = await this.#db.transaction().execute((db) => move(db, id, from, lifecycle, reason))
    this.#engine.bus.poke('outbox')
    this.#engine.bus.poke(POKE)
    return moved
  }

  #fail(row: CloudRow, reason: string): Promise<boolean> {
    return this.#to(row.computer_id, [row.lifecycle], 'error', shorten(reason, 1_000))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#rounds[Symbol.asyncDispose]()
    await this.#stepDown()
  }
}
