import { readFileSync, readlinkSync } from 'node:fs'
import { type Id, newId } from '#core/ids.ts'
import type { Log } from '../log.ts'
import type { Postgres } from '../postgres/client.ts'

const HEARTBEAT_MS = 5_000
const EXPIRY_SECONDS = 30
/** Interval of database checks, so that `inTouch` detects an outage within five seconds. */
const CONTACT_MS = 1_000
const STALE_MS = 5_000

/** This process and its lease row in `processes`. */
interface Wakes {
  on(topic: string, wake: () => void): Disposable
  poke(topic: string): void
}

export interface ServerProcess extends AsyncDisposable {
  id: Id
  live(): number
  meetOthers(bus: Wakes): Disposable
  /** The database answered within the last 5 s. */
  inTouch(): boolean
  locksJobsAs(workerPool: string): Promise<void>
  listensAt(peer: string): Promise<void>
}

/** Writes, renews, and finally deletes the lease row. Deletes rows of dead local processes immediately. */
export async function startProcess({
  postgres: { pool },
  log,
}: {
  postgres: Postgres
  log: Log
}): Promise<ServerProcess> {
  const id = newId()
  const place = placeOfPids()
  let workerPool: string | null = null
  let peer: string | null = null
  let live = 1
  let contactAt = -Infinity
  let beatAt = -Infinity
  let looking: Promise<void> | null = null

  async function look(): Promise<void> {
    const startedAt = performance.now()
    if (startedAt - beatAt >= HEARTBEAT_MS - CONTACT_MS / 2) {
      // Inserted again if it was removed during an outage.
      await pool.query({
        name: 'process_beat',
        text: `insert into processes (id, expires_at, place, pid, worker_pool, peer)
          values ($1, now() + make_interval(secs => $2), $3, $4, $5, $6)
          on conflict (id) do update set expires_at = excluded.expires_at, worker_pool = excluded.worker_pool, peer = excluded.peer`,
        values: [id, EXPIRY_SECONDS, place, process.pid, workerPool, peer],
      })
      beatAt = startedAt
    }
    const { rows } = await pool.query<{ id: Id; pid: number; here: boolean | null }>({
      name: 'process_look',
      text: 'select id, pid, place = $1 as here from processes where expires_at > now()',
      values: [place],
    })
    contactAt = startedAt
    // A dead process on this machine needn't wait for its lease to expire.
    const dead = rows.filter(({ pid, here }) => here === true && pid !== process.pid && !isAlive(pid))
    live = Math.max(1, rows.length - dead.length)
    if (dead.length === 0) return
    await pool.query('update processes set expires_at = now() where id = any($1)', [dead.map((row) => row.id)])
    log.warn({ processes: dead.length }, 'server processes of this machine stopped unexpectedly')
  }

  await look()
  await pool.query(`delete from processes where expires_at < now() - interval '1 day'`)
  const lookNow = (): void => {
    looking ??= look()
      .catch((error: unknown) => log.warn({ error }, 'the database doesn’t respond'))
      .finally(() => (looking = null))
  }
  const timer = setInterval(lookNow, CONTACT_MS)

  return {
    id,
    live: () => live,
    meetOthers(bus) {
      const wake = bus.on('processes', lookNow)
      bus.poke('processes')
      return wake
    },
    inTouch: () => performance.now() - contactAt < STALE_MS,
    async locksJobsAs(name) {
      workerPool = name
      await pool.query('update processes set worker_pool = $2 where id = $1', [id, name])
    },
    async listensAt(address) {
      peer = address
      await pool.query('update processes set peer = $2 where id = $1', [id, peer])
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await looking
      await pool.query('delete from processes where id = $1', [id]).catch(() => {})
    },
  }
}

/** The scope of pids: boot and pid namespace. Null if unknown; leases then expire. */
export function placeOfPids(): string | null {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return null
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}
