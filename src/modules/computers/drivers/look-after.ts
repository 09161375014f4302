/**
 * Looks after the cloud computers of one host: brings each to the state that its row names, whatever happened to server,
 * sandbox or host meanwhile. One process of the server does it at a time, under a lease; which row it finds in which
 * state is all that it goes by, so that one that is killed is followed by the next.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '#infra/context.ts'
import { createTurns } from '#packages/fair-queue/turns.ts'
import { startRounds } from '#infra/bus/rounds.ts'
import type { Lease, Leases } from '#infra/processes/leases.ts'
import type { Id } from '#core/ids.ts'
import { CAPABILITIES } from '#core/scopes.ts'
import type { HasLinks } from '../link/links.ts'
import { addCredential, retireOthers } from '../pairing/credentials.ts'
import type { Lifecycle } from '../store.ts'
import { type Driver, DriverFault } from './driver.ts'
import { watchDisks } from './limits/disk-watch.ts'
import { snapshotStore } from './snapshot-store.ts'
import { readSnapshot } from './snapshots.ts'
import { type CloudRow, type RemainsRow, boxOf, cloudStore, leaseOf, move } from './store.ts'
import { shorten } from '#core/text/shorten.ts'

/** The topic on the bus that says: something is to be done. */
export const POKE = 'cloud_computers'
const POLL_MS = 2_000
const LOOK_MS = 50
/** The time in which the daemon inside has to come. */
const COMES_MS = 30_000
/**
 * Computers that are started or removed at the same time, and of them those of one workspace: the others wait for their
 * turn.
 */
const MOST_AT_ONCE = 8
const MOST_OF_ONE = 6
/** The times that a computer may end by itself without having run a while: then it is not started again. */
const MOST_DEATHS = 3
const A_WHILE_MS = 60_000

/** The states in which nothing of a computer runs. */
const RESTS: readonly Lifecycle[] = ['stopped', 'error']

const STARTS: readonly Lifecycle[] = ['provisioning', 'starting']
/** The line in which computers stand that are removed. */
const REMOVALS = 'removals'

/** The capabilities of a cloud computer: all but `users`, for it has one account. */
export const ALLOWED = CAPABILITIES.filter((one) => one !== 'users')

export interface LookAfterParts {
  engine: Engine<HasLinks>
  leases: Leases
  hostId: string
  /** The drivers that are available here, by their names. */
  drivers: ReadonlyMap<string, Driver>
}

export function lookAfter({ engine, leases, hostId, drivers }: LookAfterParts): AsyncDisposable {
  const { db } = engine.postgres
  const busy = new Map<Id, Promise<void>>()
  /** The computers that this process knows to be its own: looked at when it took the lease. */
  const known = new Set<Id>()
  const disks = watchDisks(db, (error, id) =>
    engine.log.warn({ error, computer_id: id }, 'the disk of a cloud computer was not measured'),
  )
  const stopping = new AbortController()
  let watching: Promise<void> | null = null
  const turns = createTurns({
    atOnce: MOST_AT_ONCE,
    each: MOST_OF_ONE,
    waitingEach: Infinity,
    waiting: Infinity,
  })
  let lease: Lease | null = null

  async function round(): Promise<void> {
    if (lease?.signal.aborted) await stepDown()
    if (lease === null) {
      lease = await leases.acquire(leaseOf(hostId))
      if (lease === null) return
      await endStrays()
    }
    for (const id of await snapshotStore.abandon(db, hostId)) await goOn(id)
    const rows = await cloudStore.atWork(db, hostId)
    for (const { computer_id: id, workspace_id, lifecycle } of rows)
      if (lifecycle !== 'running') begin(id, STARTS.includes(lifecycle) ? workspace_id : null, () => attend(id))
    for (const row of await cloudStore.remains(db, hostId)) begin(row.computer_id, REMOVALS, () => remove(row))
    watching ??= watchAll(rows.filter((row) => row.lifecycle === 'running')).finally(() => (watching = null))
  }

  /**
   * Looks at the computers one after another: however many there are, they keep nobody waiting who has something to be
   * done.
   */
  async function watchAll(rows: readonly CloudRow[]): Promise<void> {
    for (const { computer_id: id } of rows) {
      if (stopping.signal.aborted) return
      if (!busy.has(id)) await attempt(id, () => attend(id))
    }
  }

  /** Ends programs that run here and that nobody knows of, or nobody wants: their files stay. */
  async function endStrays(): Promise<void> {
    for (const driver of drivers.values())
      for (const id of await driver.found()) {
        const row = await cloudStore.get(db, id)
        if (row?.driver === driver.name && !RESTS.includes(row.lifecycle)) continue
        engine.log.warn({ computer_id: id, driver: driver.name }, 'a computer was running that should be stopped')
        await driver.stop({ id, number: row?.number ?? 0n })
      }
  }

  /** Lets a computer go on: whoever held it still for a snapshot does not make that any more. */
  async function goOn(id: Id): Promise<void> {
    const row = await cloudStore.get(db, id)
    const driver = row && drivers.get(row.driver)
    if (driver && !(await snapshotStore.underWay(db, id))) await driver.adopt(boxOf(row))
  }

  async function stepDown(): Promise<void> {
    await watching
    await Promise.allSettled(busy.values())
    await lease?.[Symbol.asyncDispose]()
    lease = null
    known.clear()
  }

  /** Begins one thing at a time for each computer; the round after it looks again. Long work is done in turns. */
  function begin(id: Id, line: string | null, work: () => Promise<boolean>): void {
    if (busy.has(id) || stopping.signal.aborted) return
    void attempt(id, line === null ? work : () => inTurn(line, work))
  }

  function attempt(id: Id, work: () => Promise<boolean>): Promise<void> {
    const done = work()
      .catch((error: unknown) => {
        engine.log.error({ error, computer_id: id }, 'a cloud computer could not be checked')
        return false
      })
      .then((again) => {
        busy.delete(id)
        if (again && !stopping.signal.aborted) rounds.wake()
      })
    busy.set(id, done)
    return done
  }

  async function inTurn(line: string, work: () => Promise<boolean>): Promise<boolean> {
    using _turn = await turns.take(line)
    return stopping.signal.aborted || lease === null || lease.signal.aborted ? false : await work()
  }

  /** Brings one computer to the state that its row names. Answers whether there may be more to do at once. */
  async function attend(id: Id): Promise<boolean> {
    const row = await cloudStore.get(db, id)
    if (row === null) return true
    if (lease === null || lease.signal.aborted) return false
    const driver = drivers.get(row.driver)
    if (driver === undefined) {
      if (row.lifecycle !== 'running')
        await fail(row, `The driver \`${row.driver}\` is no longer available on this host.`)
      return false
    }
    switch (row.lifecycle) {
      case 'provisioning':
      case 'starting':
        return start(row, driver)
      case 'stopping':
        return stop(row, driver)
      case 'running':
        return watch(row, driver)
      default:
        return false
    }
  }

  async function start(row: CloudRow, driver: Driver): Promise<boolean> {
    const id = row.computer_id
    const box = boxOf(row)
    try {
      if (!row.made) {
        await driver.create(box)
        if (row.from_snapshot !== null) await readSnapshot(engine, row.from_snapshot, (tar) => driver.unpack(box, tar))
        await cloudStore.set(db, id, { made: true })
      }
      // A process that was killed before it could say so may have started it.
      const adopted = !known.has(id) && (await driver.lives(box)) && (await engine.links.online(id, 3_000))
      // The start took long, and the computer may be another's by now.
      if (lease === null || lease.signal.aborted) return false
      let before: bigint | null = null
      if (!adopted) {
        const state = await stateOf(row)
        // Earlier programs of the computer do not link again: their credential has ended. A link that one still has is
        // not this one's.
        before = await cloudStore.linkEpoch(db, id)
        await driver.start(box, state)
      }
      known.add(id)
      for (const until = performance.now() + COMES_MS; ;) {
        const isOnline = await engine.links.online(id, 500)
        if (isOnline && (before === null || (await cloudStore.linkEpoch(db, id)) > before)) break
        if (isOnline) await sleep(LOOK_MS)
        const now = await cloudStore.get(db, id)
        if (now?.lifecycle !== row.lifecycle || stopping.signal.aborted) return true
        if (!(await driver.lives(box)))
          throw new DriverFault(`The computer exited while starting: ${await driver.lastWords(box)}`)
        if (performance.now() > until)
          throw new DriverFault(
            `The computer’s daemon didn’t connect within 30 seconds: ${await driver.lastWords(box)}`,
          )
      }
      await to(id, [row.lifecycle], 'running')
      return true
    } catch (error) {
      if (stopping.signal.aborted) return false
      if (!(error instanceof DriverFault))
        engine.log.error({ error, computer_id: id }, 'a cloud computer was not started')
      await driver.stop(box).catch(() => {})
      return fail(row, error instanceof DriverFault ? error.message : 'Something went wrong on our side.')
    }
  }

  async function stop(row: CloudRow, driver: Driver): Promise<boolean> {
    try {
      await driver.stop(boxOf(row))
    } catch (error) {
      if (!(error instanceof DriverFault))
        engine.log.error({ error, computer_id: row.computer_id }, 'a cloud computer was not stopped')
      return fail(row, error instanceof DriverFault ? error.message : 'Something went wrong on our side.')
    }
    known.delete(row.computer_id)
    await cloudStore.set(db, row.computer_id, { deaths: 0 })
    return to(row.computer_id, ['stopping'], 'stopped')
  }

  async function watch(row: CloudRow, driver: Driver): Promise<boolean> {
    const id = row.computer_id
    if (await driver.lives(boxOf(row))) {
      if (!known.has(id)) {
        if (!(await snapshotStore.underWay(db, id))) await driver.adopt(boxOf(row))
        known.add(id)
      }
      const beyond = disks.beyond(row, driver)
      if (beyond !== null) return endFull(row, driver, beyond)
      if (row.idle) return to(id, ['running'], 'stopping')
      return false
    }
    // The computer ended by itself, or with the host.
    const lasted = row.started_at !== null && Date.now() - row.started_at.getTime() > A_WHILE_MS
    const deaths = lasted || !known.has(id) ? 1 : row.deaths + 1
    await cloudStore.set(db, id, { deaths })
    if (deaths >= MOST_DEATHS)
      return fail(
        row,
        `The computer exited unexpectedly ${deaths} times in a row: ${await driver.lastWords(boxOf(row))}`,
      )
    return to(id, ['running'], 'starting')
  }

  /**
   * Ends a computer that keeps too much. Its owner starts it again and removes things: the bytes that it has then are
   * not held against it.
   */
  async function endFull(row: CloudRow, driver: Driver, used: number): Promise<boolean> {
    await driver.stop(boxOf(row))
    known.delete(row.computer_id)
    return fail(
      row,
      `The computer used ${used} bytes of its disk limit of ${row.disk_mb! * 1_048_576} (\`disk_mb: ${row.disk_mb}\`) and was stopped. Start it and delete files that you don’t need.`,
    )
  }

  async function remove(row: RemainsRow): Promise<boolean> {
    const driver = drivers.get(row.driver)
    if (driver === undefined) return false
    await driver.destroy({ id: row.computer_id, number: row.number })
    known.delete(row.computer_id)
    disks.forget(row.computer_id)
    await cloudStore.removed(db, row.computer_id)
    return false
  }

  async function to(
    id: Id,
    from: readonly Lifecycle[],
    lifecycle: Lifecycle,
    reason: string | null = null,
  ): Promise<boolean> {
    const moved = await db.transaction().execute((db) => move(db, id, from, lifecycle, reason))
    engine.bus.poke('outbox')
    engine.bus.poke(POKE)
    return moved
  }
  const fail = (row: CloudRow, reason: string): Promise<boolean> =>
    to(row.computer_id, [row.lifecycle], 'error', shorten(reason, 1_000))

  /** The state for a start. Each start has a credential of its own, and ends those before. */
  async function stateOf({ computer_id, name, made }: CloudRow): Promise<string> {
    const machine = await addCredential(db, computer_id)
    if (made) await retireOthers(db, machine, 0)
    return JSON.stringify({
      server_url: 'http://ukiyo',
      computer_id,
      name,
      credential: machine.credential,
      previous: null,
      allows: ALLOWED,
      roots: ['/'],
    })
  }

  const rounds = startRounds({ bus: engine.bus, poke: POKE, pollMs: POLL_MS }, round, (error) =>
    engine.log.error({ error }, 'cloud computers could not be checked'),
  )
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await rounds[Symbol.asyncDispose]()
      await stepDown()
    },
  }
}
