import { type Id, firstIdAt } from '#core/ids.ts'
import { storable } from '#core/text/storable.ts'
import type { Config } from '#config'
import type { Log } from '../log.ts'
import { type Postgres, sqlState } from '../postgres/client.ts'
import { shorten } from '#core/text/shorten.ts'

export interface ProviderAttempt {
  /** The ledger call's ID, if it got that far. */
  call_id: Id
  provider: string
  model: string
  /** Why it was ranked there, for people. Empty without an alternative. */
  why: string
  /** `refused`: not sent, usually for lack of credits. `left`: another one answered first, or the caller left. */
  outcome: 'answered' | 'failed' | 'refused' | 'left'
  status: number | null
  message: string | null
  duration_ms: number
}

export interface LoggedRequest {
  id: Id
  account_id: Id
  workspace_id: Id
  key_id: Id | null
  chat_id: Id | null
  run_id: Id | null
  surface: string
  /** Null: an internal request, such as a run's. */
  path: string | null
  asked_model: string | null
  request_bytes: number | null
  streamed: boolean
  model: string | null
  provider: string | null
  status: 'succeeded' | 'failed' | 'cancelled'
  http_status: number | null
  error_code: string | null
  error_message: string | null
  losses: readonly string[]
  tried: readonly ProviderAttempt[]
  duration_ms: number
  created_at: Date
}

export interface RequestLog extends AsyncDisposable {
  readonly isEnabled: boolean
  /** Returns immediately; the first entry of an ID counts. Written within a second unless the process is killed. */
  add(request: LoggedRequest): void
  /** Resolves when added entries are readable or can't be written now. */
  flush(): Promise<void>
}

const GATHER_MS = 1_000
const MAX_AT_ONCE = 500
/** Above this limit, while the database is down, new entries are dropped: calls matter more than their log. */
const MAX_WAITING = 20_000
const LONGEST_MESSAGE = 1_000
const LONGEST_NAME = 300
const MAX_LOSSES = 100
const DAY_MS = 86_400_000

export function createRequestLog({
  postgres,
  log,
  config,
}: {
  postgres: Postgres
  log: Log
  config: Pick<Config, 'requestRetentionDays'>
}): RequestLog {
  const waiting = new Map<Id, LoggedRequest>()
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()
  let droppedCount = 0

  async function write(): Promise<void> {
    let most = MAX_AT_ONCE
    while (waiting.size > 0) {
      const batch = [...waiting.values()].slice(0, most)
      try {
        await insert(postgres, batch)
      } catch (error) {
        log.warn({ error, waiting: waiting.size, dropped: droppedCount }, 'the request log cannot be written')
        // Class 22: an unstorable entry is isolated by bisection, so it neither blocks nor loses the others.
        if (sqlState(error)?.startsWith('22')) {
          if (batch.length === 1) waiting.delete(batch[0]!.id)
          most = Math.ceil(batch.length / 2)
          continue
        }
        timer ??= setTimeout(begin, GATHER_MS * 5).unref()
        return
      }
      for (const { id } of batch) waiting.delete(id)
      droppedCount = 0
      most = Math.min(MAX_AT_ONCE, most * 2)
    }
  }
  function begin(): void {
    timer = null
    void flush()
  }
  function flush(): Promise<void> {
    return (writing = writing.then(write))
  }
  const isEnabled = config.requestRetentionDays > 0
  return {
    isEnabled,
    add(request) {
      if (!isEnabled || waiting.has(request.id)) return
      if (waiting.size >= MAX_WAITING) {
        droppedCount += 1
        return
      }
      waiting.set(request.id, request)
      timer ??= setTimeout(begin, GATHER_MS).unref()
    },
    flush,
    async [Symbol.asyncDispose]() {
      if (timer !== null) clearTimeout(timer)
      await flush()
      if (timer !== null) clearTimeout(timer)
    },
  }
}

async function insert({ pool }: Postgres, rows: readonly LoggedRequest[]): Promise<void> {
  await pool.query({
    name: 'request_log',
    text: `insert into request_log select id, account_id, workspace_id, key_id, chat_id, run_id, surface, path, asked_model,
        request_bytes, streamed, model, provider, status, http_status, error_code, error_message,
        array(select jsonb_array_elements_text(losses)), tried, duration_ms, created_at
      from jsonb_to_recordset($1::jsonb) as x(id text, account_id text, workspace_id text, key_id text, chat_id text,
        run_id text, surface text, path text, asked_model text, request_bytes int, streamed boolean, model text,
        provider text, status text, http_status int, error_code text, error_message text, losses jsonb, tried jsonb,
        duration_ms int, created_at timestamptz)
      on conflict do nothing`,
    values: [JSON.stringify(rows.map(boundRow))],
  })
}

const short = (words: string | null, most: number): string | null =>
  words === null ? null : storable(shorten(words, most))

const boundRow = (row: LoggedRequest): LoggedRequest => ({
  ...row,
  path: short(row.path, LONGEST_NAME),
  asked_model: short(row.asked_model, LONGEST_NAME),
  model: short(row.model, LONGEST_NAME),
  error_message: short(row.error_message, LONGEST_MESSAGE),
  losses: row.losses.slice(0, MAX_LOSSES).map((name) => short(name, LONGEST_NAME)!),
  tried: row.tried.map((one) => ({
    ...one,
    model: short(one.model, LONGEST_NAME)!,
    why: short(one.why, LONGEST_MESSAGE)!,
    message: short(one.message, LONGEST_MESSAGE),
  })),
})

/** The first ID within retention. Older request fields stay in call records but aren't shown. */
export const keptRequestsFrom = (days: number, now = Date.now()): Id => firstIdAt(now - days * DAY_MS)

export async function retainRequestLog({ pool }: Postgres, days: number, now = Date.now()): Promise<void> {
  if (days === 0) await pool.query('delete from request_log')
  else await pool.query('delete from request_log where id < $1', [keptRequestsFrom(days, now)])
}
