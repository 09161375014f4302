import type { Bus } from '#infra/bus/bus.ts'
import type { Log } from '#infra/log.ts'
import type { Postgres } from '#infra/postgres/client.ts'
import type { ProviderEndpoint } from '#gateway/model/offer.ts'
import type { CallOutcome } from '#gateway/routing/health.ts'
import { quirksOwner } from '#gateway/providers/supports.ts'
import type { Id } from '#core/ids.ts'
import { needsModelList, type Source } from '../endpoints/sources.ts'
import { AskFailed } from '../lists/ask-provider.ts'
import {
  type ConnectionState,
  WRITE_INTERVAL_MS,
  type TestOutcome,
  afterCall,
  afterTest,
  reasonWords,
  servesElsewhere,
  untestedState,
} from './connection-state.ts'
import { connectionStore } from './connection-store.ts'
import { RefusedModels } from './refused-models.ts'
import { provesKey, describeFailure } from './test-connection.ts'

const TOPIC = 'provider_connections'
/** The bus may lose a message, so changes are also read at this interval. */
const POLL_MS = 5_000
/** Writes can commit out of order, so recent changes are read twice. */
const OVERLAP_MS = 15_000
const GATHER_MS = 1_000
const MAX = 100_000

export type ConnectionsParts = { postgres: Postgres; bus: Bus; log: Log; changed: () => void }

/**
 * The states of connections, from requests and tests. Served from memory, so requests never wait. Processes share
 * states through the database: each writes once per second and reads the others' changes.
 */
export class Connections implements AsyncDisposable {
  readonly #parts: ConnectionsParts
  readonly #refusedModels: RefusedModels
  readonly #states = new Map<Id, ConnectionState>()
  /** Consecutive unreachable requests of this process. */
  readonly #unreachable = new Map<Id, { count: number; since: Date }>()
  readonly #lastSuccess = new Map<Id, Date>()
  /** Not yet written. */
  #fresh = new Map<Id, ConnectionState>()
  #since = new Date(Date.now() - OVERLAP_MS)
  #gathering: NodeJS.Timeout | null = null
  #writing: Promise<void> = Promise.resolve()
  #reading: Promise<void> | null = null
  #readAgain = false
  readonly #polling: NodeJS.Timeout
  readonly #waking: Disposable

  constructor(parts: ConnectionsParts) {
    this.#parts = parts
    this.#refusedModels = new RefusedModels(parts)
    this.#polling = setInterval(() => this.#readStates(), POLL_MS)
    this.#waking = parts.bus.on(TOPIC, () => this.#readStates())
  }

  /** Unreadable states count as untested. */
  async learn(ids: readonly Id[]): Promise<void> {
    const missing = ids.filter((id) => !this.#states.has(id))
    if (this.#states.size + missing.length > MAX) {
      this.#states.clear()
      this.#lastSuccess.clear()
    }
    try {
      const states = await connectionStore.states(this.#parts.postgres.db, missing)
      for (const id of missing) if (!this.#states.has(id)) this.#states.set(id, untestedState(new Date(0)))
      for (const [id, state] of states) this.#hear(id, state)
      await this.#refusedModels.learn(this.#parts.postgres.db, missing)
    } catch (error) {
      this.#parts.log.warn({ error }, 'provider endpoint status cannot be read')
    }
  }

  async states(ids: readonly Id[]): Promise<ReadonlyMap<Id, ConnectionState>> {
    const stateById = new Map(await connectionStore.states(this.#parts.postgres.db, ids))
    for (const id of ids) {
      const own = this.#fresh.get(id)
      if (own !== undefined) stateById.set(id, own)
    }
    return stateById
  }

  stateOf({ connection }: ProviderEndpoint): ConnectionState | null {
    return (connection !== undefined && this.#states.get(connection)) || null
  }

  failing(endpoint: ProviderEndpoint): string | null {
    const state = this.stateOf(endpoint)
    return state?.status === 'failing' ? reasonWords(state.reason) : null
  }

  /** Whether a request is likely to fail until the key, the account or the model name changes. */
  refuses(endpoint: ProviderEndpoint, model: string): boolean {
    const state = this.stateOf(endpoint)
    return (
      state?.status === 'failing' || state?.reason === 'unproven' || this.#refusedModels.has(endpoint.connection, model)
    )
  }

  called({ connection }: ProviderEndpoint, outcome: CallOutcome, model: string): void {
    const before = connection === undefined ? undefined : this.#states.get(connection)
    if (connection === undefined || before === undefined) return
    this.#refusedModels.called(connection, model, outcome)
    const now = new Date()
    let unreachableCount = 0
    if (!outcome.ok && outcome.fault.kind === 'unreachable') {
      const { count, since } = this.#unreachable.get(connection) ?? { count: 0, since: now }
      this.#unreachable.set(connection, { count: count + 1, since })
      if (!servesElsewhere(before, this.#lastSuccess.get(connection) ?? null, since, now)) unreachableCount = count + 1
    } else if (this.#unreachable.size > 0) this.#unreachable.delete(connection)
    const next = afterCall(before, outcome, unreachableCount, now)
    if (next === before) return
    this.#take(connection, before, next)
    this.#gather()
  }

  /** Records a model list response. It counts as a test if listing requires a valid key. */
  listed(source: Source, answer: { latencyMs: number; models: number } | AskFailed): void {
    const { endpoint, from } = source
    const { connection } = endpoint
    const before = connection === undefined ? undefined : this.#states.get(connection)
    const { keyCheck = null, lists } = quirksOwner(endpoint) ?? {}
    if (connection === undefined || before === undefined || keyCheck !== null || lists === false) return
    if (!(answer instanceof AskFailed)) {
      const lately = before.lastSuccessAt !== null && Date.now() - before.lastSuccessAt.getTime() < WRITE_INTERVAL_MS
      if (before.status === 'working' && before.modelsCount === answer.models && lately) return
      return this.#note(connection, before, { ok: true, ...answer, provesKey: provesKey(endpoint) }, source)
    }
    // A missing local engine is normal, and the timeout for lists is short.
    if (from === 'discovered' || answer.kind === 'timeout') return
    this.#note(connection, before, { ok: false, latencyMs: 0, ...describeFailure(answer, source) }, source)
  }

  #note(connection: Id, before: ConnectionState, outcome: TestOutcome, source: Source): void {
    this.#take(connection, before, afterTest(before, outcome, needsModelList(source), new Date()))
    this.#gather()
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => void this.#flush(), GATHER_MS).unref()
  }

  /** Resolves once the result is written, or if the database is unavailable. */
  async recordTest(connection: Id, outcome: TestOutcome, needsList: boolean): Promise<void> {
    if (!this.#states.has(connection)) await this.learn([connection])
    const before = this.#states.get(connection) ?? untestedState(new Date(0))
    this.#take(connection, before, afterTest(before, outcome, needsList, new Date()))
    await this.#flush()
  }

  #take(id: Id, before: ConnectionState, next: ConnectionState): void {
    this.#states.set(id, next)
    this.#fresh.set(id, next)
    if (next.lastSuccessAt !== null && next.lastSuccessAt !== before.lastSuccessAt)
      this.#lastSuccess.set(id, next.lastSuccessAt)
    if (next.status === 'working' && before.reason !== null) this.#refusedModels.works(id)
    if (next.status !== before.status) this.#parts.changed()
  }

  #hear(id: Id, state: ConnectionState): void {
    const before = this.#states.get(id)
    // Unused by this process, or older than its own observation.
    if (before === undefined || before.observedAt > state.observedAt) return
    this.#states.set(id, state)
    if (state.status !== before.status) this.#parts.changed()
  }

  #flush(): Promise<void> {
    if (this.#gathering !== null) clearTimeout(this.#gathering)
    this.#gathering = null
    return (this.#writing = this.#writing.then(async () => {
      const states = [...this.#fresh]
      if (states.length === 0) return
      try {
        if (await connectionStore.write(this.#parts.postgres.db, states)) this.#parts.bus.poke('outbox')
      } catch (error) {
        this.#parts.log.warn({ error }, 'provider endpoint status cannot be written')
        this.#gathering ??= setTimeout(() => void this.#flush(), POLL_MS).unref()
        return
      }
      for (const [id, state] of states) if (this.#fresh.get(id) === state) this.#fresh.delete(id)
      this.#parts.bus.poke(TOPIC)
    }))
  }

  #readStates(): void {
    this.#readAgain = true
    this.#reading ??= this.#readAll().finally(() => (this.#reading = null))
  }

  async #readAll(): Promise<void> {
    while (this.#readAgain) {
      this.#readAgain = false
      try {
        const { states, at } = await connectionStore.changedSince(this.#parts.postgres.db, this.#since)
        for (const [id, state] of states) this.#hear(id, state)
        this.#since = new Date(at.getTime() - OVERLAP_MS)
      } catch (error) {
        this.#parts.log.warn({ error }, 'provider endpoint status cannot be read')
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#polling)
    this.#waking[Symbol.dispose]()
    await this.#reading
    await this.#flush()
    if (this.#gathering !== null) clearTimeout(this.#gathering)
    await this.#refusedModels[Symbol.asyncDispose]()
  }
}
