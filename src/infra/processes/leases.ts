import type { Id } from '#core/ids.ts'
import type { Log } from '../log.ts'
import type { Postgres } from '../postgres/client.ts'

/** Exclusive ownership of a task, until released, lost, or the process dies. */
export interface Lease extends AsyncDisposable {
  name: string
  /** Increases with every owner. Writes check it to exclude earlier owners. */
  fence: bigint
  signal: AbortSignal
}

export interface Leases {
  /** Null if another process has it. Renewed automatically. */
  acquire(name: string, seconds?: number): Promise<Lease | null>
}

export function createLeases({
  postgres: { pool },
  processId,
  log,
}: {
  postgres: Postgres
  processId: Id
  log: Log
}): Leases {
  return {
    async acquire(name, seconds = 6) {
      const askedAt = performance.now()
      const { rows } = await pool.query<{ fence: bigint }>({
        name: 'lease_acquire',
        text: `insert into leases as l (name, holder, expires_at) values ($1, $2, clock_timestamp() + make_interval(secs => $3))
          on conflict (name) do update set holder = excluded.holder, fence = l.fence + 1, expires_at = excluded.expires_at
          where l.expires_at <= clock_timestamp()
            or not exists (select 1 from processes p where p.id = l.holder and p.expires_at > clock_timestamp())
          returning fence`,
        values: [name, processId, seconds],
      })
      return rows[0] ? hold(name, rows[0].fence, seconds, askedAt) : null
    },
  }

  function hold(name: string, fence: bigint, seconds: number, askedAt: number): Lease {
    const loss = new AbortController()
    let validUntil = askedAt + seconds * 1000
    let renewing: Promise<void> = Promise.resolve()

    async function renew(): Promise<void> {
      const startedAt = performance.now()
      try {
        const { rowCount } = await pool.query({
          name: 'lease_renew',
          text: `update leases set expires_at = clock_timestamp() + make_interval(secs => $4)
            where name = $1 and holder = $2 and fence = $3 and expires_at > clock_timestamp()`,
          values: [name, processId, fence, seconds],
        })
        if (rowCount === 1) validUntil = startedAt + seconds * 1000
        else lose()
      } catch (error) {
        log.warn({ error, lease: name }, 'a lease was not renewed')
      }
    }
    function lose(): void {
      clearInterval(timer)
      loss.abort(new Error(`the lease ${name} was lost`))
    }
    const timer = setInterval(
      () => {
        // No other process can own it before this time.
        if (performance.now() >= validUntil) return lose()
        renewing = renew()
      },
      (seconds * 1000) / 4,
    )

    return {
      name,
      fence,
      signal: loss.signal,
      async [Symbol.asyncDispose]() {
        clearInterval(timer)
        await renewing
        await pool
          .query('update leases set expires_at = clock_timestamp() where name = $1 and holder = $2 and fence = $3', [
            name,
            processId,
            fence,
          ])
          .catch(() => {})
      },
    }
  }
}
