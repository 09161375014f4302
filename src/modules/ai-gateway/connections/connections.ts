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
  NOTED_MS,
  type TestOutcome,
  afterCall,
  afterTest,
  reasonWords,
  servesElsewhere,
  untested,
} from './connection-state.ts'
import { connectionStore } from './connection-store.ts'
import { RefusedModels } from './refused-models.ts'
import { provesKey, told } from './test-connection.ts'

const TOPIC = 'provider_connections'
/** Behind the bus, whose wake-ups may be lost. */
const POLL_MS = 5_000
/** A write that began earlier may end later: what was read lately is read once more. */
const OVERLAP_MS = 15_000
/** Whatever calls tell in this time goes in one statement. */
const GATHER_MS = 1_000
const MOST = 100_000

export type ConnectionsParts = { postgres: Postgres; bus: Bus; log: Log; changed: () => void }

/**
 * The states of the connections to provider endpoints, as calls and tests have shown. Memory answers, so that no call
 * waits; processes share the states through the database: each writes at most one statement a second of it, and reads
 * what the others wrote.
 */
export class Connections implements AsyncDisposable {
  readonly #parts: ConnectionsParts
  readonly #refused: RefusedModels
  readonly #known = new Map<Id, ConnectionState>()
  /** Calls in a row that found nobody. Each process counts its own, and asks the row whether others are served. */
  readonly #unreached = new Map<Id, { count: number; since: Date }>()
  /** The times when this process was last served, as it noted them. */
  readonly #served = new Map<Id, Date>()
  /** The states that are still to be written. */
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
    this.#refused = new RefusedModels(parts)
    this.#polling = setInterval(() => this.#read(), POLL_MS)
    this.#waking = parts.bus.on(TOPIC, () => this.#read())
  }

  /** Reads how these do, for calls from now on. What is not to be read now is taken for untested. */
  async learn(ids: readonly Id[]): Promise<void> {
    const missing = ids.filter((id) => !this.#known.has(id))
    if (this.#known.size + missing.length > MOST) {
      this.#known.clear()
      this.#served.clear()
    }
    try {
      const states = await connectionStore.states(this.#parts.postgres.db, missing)
      for (const id of missing) if (!this.#known.has(id)) this.#known.set(id, untested(new Date(0)))
      for (const [id, state] of states) this.#hear(id, state)
      await this.#refused.learn(this.#parts.postgres.db, missing)
    } catch (error) {
      this.#parts.log.warn({ error }, 'provider endpoint status cannot be read')
    }
  }

  /** The states as the database knows them, with what this process saw since. */
  async states(ids: readonly Id[]): Promise<ReadonlyMap<Id, ConnectionState>> {
    const found = new Map(await connectionStore.states(this.#parts.postgres.db, ids))
    for (const id of ids) {
      const own = this.#fresh.get(id)
      if (own !== undefined) found.set(id, own)
    }
    return found
  }

  /** Null: it was never heard of, or is no connection whose state is kept. */
  stateOf({ connection }: ProviderEndpoint): ConnectionState | null {
    return (connection !== undefined && this.#known.get(connection)) || null
  }

  /** The reason not to count on this endpoint; null: as far as anybody knows it serves. */
  failing(endpoint: ProviderEndpoint): string | null {
    const state = this.stateOf(endpoint)
    return state?.status === 'failing' ? reasonWords(state.reason) : null
  }

  /** Whether a call of this model is likely to be refused for good: its endpoint's key or account, or the model, was refused. */
  refuses(endpoint: ProviderEndpoint, model: string): boolean {
    const state = this.stateOf(endpoint)
    return state?.status === 'failing' || state?.reason === 'unproven' || this.#refused.has(endpoint.connection, model)
  }

  /** A call has come to its end there. Nobody waits for this. */
  called({ connection }: ProviderEndpoint, outcome: CallOutcome, model: string): void {
    const before = connection === undefined ? undefined : this.#known.get(connection)
    if (connection === undefined || before === undefined) return
    this.#refused.called(connection, model, outcome)
    const now = new Date()
    let unreached = 0
    if (!outcome.ok && outcome.fault.kind === 'unreachable') {
      const { count, since } = this.#unreached.get(connection) ?? { count: 0, since: now }
      this.#unreached.set(connection, { count: count + 1, since })
      if (!servesElsewhere(before, this.#served.get(connection) ?? null, since, now)) unreached = count + 1
    } else if (this.#unreached.size > 0) this.#unreached.delete(connection)
    const next = afterCall(before, outcome, unreached, now)
    if (next === before) return
    this.#take(connection, before, next)
    this.#gather()
  }

  /** A provider was asked what it serves, which is a test too where no key could be wrong without its saying so. */
  listed(source: Source, answer: { latencyMs: number; models: number } | AskFailed): void {
    const { endpoint, from } = source
    const { connection } = endpoint
    const before = connection === undefined ? undefined : this.#known.get(connection)
    const { keyCheck = null, lists } = quirksOwner(endpoint) ?? {}
    if (connection === undefined || before === undefined || keyCheck !== null || lists === false) return
    if (!(answer instanceof AskFailed)) {
      const lately = before.lastSuccessAt !== null && Date.now() - before.lastSuccessAt.getTime() < NOTED_MS
      if (before.status === 'working' && before.modelsCount === answer.models && lately) return
      return this.#note(connection, before, { ok: true, ...answer, provesKey: provesKey(endpoint) }, source)
    }
    // An engine that was looked for and is not there serves nobody; and our own patience with lists is short.
    if (from === 'discovered' || answer.kind === 'timeout') return
    this.#note(connection, before, { ok: false, latencyMs: 0, ...told(answer, source) }, source)
  }

  #note(connection: Id, before: ConnectionState, outcome: TestOutcome, source: Source): void {
    this.#take(connection, before, afterTest(before, outcome, needsModelList(source), new Date()))
    this.#gather()
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => void this.#flush(), GATHER_MS).unref()
  }

  /** A test has ended: in the database when it resolves, where that is there. */
  async tested(connection: Id, outcome: TestOutcome, needsList: boolean): Promise<void> {
    if (!this.#known.has(connection)) await this.learn([connection])
    const before = this.#known.get(connection) ?? untested(new Date(0))
    this.#take(connection, before, afterTest(before, outcome, needsList, new Date()))
    await this.#flush()
  }

  #take(id: Id, before: ConnectionState, next: ConnectionState): void {
    this.#known.set(id, next)
    this.#fresh.set(id, next)
    if (next.lastSuccessAt !== null && next.lastSuccessAt !== before.lastSuccessAt)
      this.#served.set(id, next.lastSuccessAt)
    if (next.status === 'working' && before.reason !== null) this.#refused.works(id)
    if (next.status !== before.status) this.#parts.changed()
  }

  #hear(id: Id, state: ConnectionState): void {
    const before = this.#known.get(id)
    // Nobody of this process calls it, or this process has seen something since.
    if (before === undefined || before.observedAt > state.observedAt) return
    this.#known.set(id, state)
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

  #read(): void {
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
    await this.#refused[Symbol.asyncDispose]()
  }
}
