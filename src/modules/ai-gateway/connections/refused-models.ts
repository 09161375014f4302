import { sql } from 'kysely'
import type { Bus } from '#infra/bus/bus.ts'
import type { Log } from '#infra/log.ts'
import type { Db, Postgres } from '#infra/postgres/client.ts'
import type { FaultKind } from '#gateway/model/canonical-request.ts'
import { rules } from '#gateway/model/fault-rules.ts'
import type { CallOutcome } from '#gateway/routing/health.ts'
import type { Id } from '#core/ids.ts'

const TOPIC = 'refused_models'
/** The bus may lose a message, so changes are also read at this interval. */
const POLL_MS = 5_000
/** Writes can commit out of order, so recent changes are read twice. */
const OVERLAP_MS = 15_000
/** Changes within this time are written in one statement, so a flapping model costs one write. */
const GATHER_MS = 1_000
const MAX = 20_000
/** Limited per connection, because callers choose the names. */
const MAX_OF_CONNECTION = 200
const LONGEST_NAME = 300

interface Change {
  connection: Id
  model: string
  kind: FaultKind | null
}

/** Whether every request fails until the key, the account or the model name changes. */
const isPermanent = (outcome: CallOutcome): boolean =>
  !outcome.ok &&
  !rules[outcome.fault.kind].passes &&
  rules[outcome.fault.kind].asideMs > 0 &&
  outcome.fault.affordsLess !== true

/**
 * Models whose last request was rejected permanently. The router still tries them, but they aren't picked as a default.
 * Served from memory and shared through the database.
 */
export class RefusedModels implements AsyncDisposable {
  readonly #parts: { postgres: Postgres; bus: Bus; log: Log }
  readonly #kinds = new Map<string, FaultKind>()
  readonly #polling: NodeJS.Timeout
  readonly #waking: Disposable
  readonly #fresh = new Map<string, Change>()
  readonly #healedConnections = new Set<Id>()
  #gathering: NodeJS.Timeout | null = null
  #since = new Date(Date.now() - OVERLAP_MS)
  #work: Promise<void> = Promise.resolve()
  #readQueued = false

  constructor(parts: { postgres: Postgres; bus: Bus; log: Log }) {
    this.#parts = parts
    this.#polling = setInterval(() => this.#readChanges(), POLL_MS)
    this.#waking = parts.bus.on(TOPIC, () => this.#readChanges())
  }

  async learn(db: Db, connections: readonly Id[]): Promise<void> {
    if (connections.length === 0) return
    const { rows } = await sql<Change>`select connection, model, kind from refused_models
      where connection = any(${connections}::bpchar[]) and kind is not null`.execute(db)
    for (const row of rows) this.#set(row)
  }

  has(connection: Id | undefined, model: string): boolean {
    return connection !== undefined && this.#kinds.has(keyOf(connection, model))
  }

  called(connection: Id, model: string, outcome: CallOutcome): void {
    const currentKind = this.#kinds.get(keyOf(connection, model)) ?? null
    const kind = outcome.ok ? null : isPermanent(outcome) ? outcome.fault.kind : currentKind
    if (kind === currentKind || model.length > LONGEST_NAME) return
    const change = { connection, model, kind }
    this.#set(change)
    this.#fresh.set(keyOf(connection, model), change)
    this.#gather()
  }

  /** Clears rejections after the key and the account work again, except for unknown models. */
  works(connection: Id): void {
    const start = keyOf(connection, '')
    const healedEntries = [...this.#kinds].filter(([key, kind]) => key.startsWith(start) && kind !== 'model_not_found')
    if (healedEntries.length === 0) return
    for (const [key] of healedEntries) {
      this.#kinds.delete(key)
      this.#fresh.delete(key)
    }
    this.#healedConnections.add(connection)
    this.#gather()
  }

  #gather(afterMs = GATHER_MS): void {
    this.#gathering ??= setTimeout(() => this.#flush(), afterMs).unref()
  }

  #flush(): void {
    if (this.#gathering !== null) clearTimeout(this.#gathering)
    this.#gathering = null
    this.#queue(async (db) => {
      const [changes, healedIds] = [[...this.#fresh], [...this.#healedConnections]]
      if (changes.length === 0 && healedIds.length === 0) return
      try {
        await write(
          db,
          changes.map(([, change]) => change),
          healedIds,
        )
      } catch (error) {
        this.#gather(POLL_MS)
        throw error
      }
      for (const [key, change] of changes) if (this.#fresh.get(key) === change) this.#fresh.delete(key)
      for (const connection of healedIds) this.#healedConnections.delete(connection)
      this.#parts.bus.poke(TOPIC)
    })
  }

  #set({ connection, model, kind }: Change): void {
    const key = keyOf(connection, model)
    this.#kinds.delete(key)
    if (kind === null) return
    this.#kinds.set(key, kind)
    if (this.#kinds.size > MAX) for (const oldest of this.#kinds.keys()) return void this.#kinds.delete(oldest)
  }

  #readChanges(): void {
    if (this.#readQueued) return
    this.#readQueued = true
    this.#queue(async (db) => {
      this.#readQueued = false
      const { rows } = await sql<Change & { at: Date }>`select connection, model, kind, changed_at as at
        from refused_models where changed_at > ${this.#since} order by changed_at limit ${MAX}`.execute(db)
      // This process's own changes are newer.
      for (const row of rows) if (!this.#fresh.has(keyOf(row.connection, row.model))) this.#set(row)
      const last = rows.at(-1)
      if (last !== undefined) this.#since = new Date(Math.max(+this.#since, +last.at - OVERLAP_MS))
    })
  }

  #queue(work: (db: Db) => Promise<void>): void {
    this.#work = this.#work
      .then(() => work(this.#parts.postgres.db))
      .catch((error: unknown) => this.#parts.log.warn({ error }, 'rejected models cannot be read or written'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#polling)
    this.#waking[Symbol.dispose]()
    this.#flush()
    await this.#work
  }
}

/** Clears rejections first, so later ones count. Keeps the newest entries of each connection. */
async function write(db: Db, changes: readonly Change[], healedConnections: readonly Id[]): Promise<void> {
  if (healedConnections.length > 0)
    await sql`update refused_models set kind = null, changed_at = clock_timestamp()
      where connection = any(${healedConnections}::bpchar[]) and kind <> 'model_not_found'`.execute(db)
  if (changes.length === 0) return
  await sql`insert into refused_models (connection, model, kind)
    select * from unnest(${changes.map(({ connection }) => connection)}::bpchar[],
      ${changes.map(({ model }) => model)}::text[], ${changes.map(({ kind }) => kind)}::text[])
    on conflict (connection, model) do update set kind = excluded.kind, changed_at = clock_timestamp()`.execute(db)
  await sql`delete from refused_models r using (
      select connection, model, row_number() over (partition by connection order by changed_at desc, model) as place
      from refused_models where connection = any(${[...new Set(changes.map(({ connection }) => connection))]}::bpchar[])) old
    where old.place > ${MAX_OF_CONNECTION} and r.connection = old.connection and r.model = old.model`.execute(db)
}

const keyOf = (connection: Id, model: string): string => `${connection} ${model}`

export async function retainRefusedModels(db: Db): Promise<void> {
  await sql`
    delete from refused_models r where changed_at < now() - interval '30 days'
      and (kind is null or not exists (select from provider_connections c where c.id = r.connection))`.execute(db)
}
