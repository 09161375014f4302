import type { Outbound } from '#packages/http-client/outbound.ts'
import type { Log } from '#infra/log.ts'
import type { Id } from '#core/ids.ts'
import { AskFailed } from './ask-provider.ts'
import { type ListedModel, fetchModels } from './list-models.ts'
import { askDiscovered } from './local-engines.ts'
import type { Source } from '../endpoints/sources.ts'

/** Minimum time between requests to one provider. */
export const REFRESH_MS = 30_000
/** Age at which a list in use is refreshed. A missing list is refreshed after `REFRESH_MS`. */
const STALE_MS = 300_000
const MOST = 10_000

interface Known {
  models: readonly ListedModel[] | null
  failure: AskFailed | null
  failures: number
  at: number
  running: Promise<void> | null
}

type Heard = (source: Source, outcome: { latencyMs: number; models: number } | AskFailed) => void

export class KnownLists {
  readonly #known = new Map<string, Known>()
  readonly #outbound: Outbound
  readonly #log: Log
  readonly #changed: (ownerId: Id) => void
  readonly #heard: Heard

  constructor(outbound: Outbound, log: Log, changed: (ownerId: Id) => void, heard: Heard) {
    this.#outbound = outbound
    this.#log = log
    this.#changed = changed
    this.#heard = heard
  }

  of(source: Source): readonly ListedModel[] | null {
    return this.#known.get(keyOf(source))?.models ?? null
  }

  whyUnknown(source: Source): AskFailed | null {
    const known = this.#known.get(keyOf(source))
    return known === undefined || known.models !== null ? null : known.failure
  }

  askSilent(source: Source, timeoutMs: number): Promise<void> {
    const failures = this.#known.get(keyOf(source))?.failures ?? 0
    return this.ask(source, timeoutMs, failures === 0 ? REFRESH_MS : Math.min(REFRESH_MS, 500 * 2 ** failures))
  }

  wasAsked(source: Source): boolean {
    return this.#known.has(keyOf(source))
  }

  /** Skipped within `again` ms of the last request. Never throws: a failing provider keeps its previous list. */
  ask(source: Source, timeoutMs: number, again = REFRESH_MS): Promise<void> {
    const key = keyOf(source)
    const known = this.#known.get(key)
    if (known?.running) return known.running
    if (known && performance.now() - known.at < again) return Promise.resolve()
    if (this.#known.size >= MOST) this.#known.clear()
    const entry: Known = {
      models: known?.models ?? null,
      failure: known?.failure ?? null,
      failures: known?.failures ?? 0,
      at: performance.now(),
      running: null,
    }
    this.#known.set(key, entry)
    const startedAt = performance.now()
    const askFor = source.from === 'discovered' ? askDiscovered : fetchModels
    entry.running = askFor(this.#outbound, source.endpoint, timeoutMs)
      .then((models) => {
        this.#heard(source, { latencyMs: Math.round(performance.now() - startedAt), models: models.length })
        this.#learn(source, entry, models)
      })
      .catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error)
        entry.failure = error instanceof AskFailed ? error : new AskFailed('It can’t be tested.')
        entry.failures += 1
        this.#heard(source, entry.failure)
        this.#log.debug({ provider: source.endpoint.slug, why }, 'a provider does not say what it serves')
        if (source.from === 'discovered') this.#learn(source, entry, null)
      })
      .finally(() => {
        entry.at = performance.now()
        entry.running = null
      })
    return entry.running
  }

  learn(source: Source, models: readonly ListedModel[]): void {
    const entry: Known = { models: null, failure: null, failures: 0, at: performance.now(), running: null }
    this.#known.set(keyOf(source), entry)
    this.#learn(source, entry, models)
  }

  refresh(source: Source, timeoutMs: number): void {
    const known = this.#known.get(keyOf(source))
    if (known && performance.now() - known.at > (known.models === null ? REFRESH_MS : STALE_MS))
      void this.ask(source, timeoutMs)
  }

  #learn(source: Source, entry: Known, models: readonly ListedModel[] | null): void {
    const before = JSON.stringify(entry.models)
    entry.models = models
    entry.failure = null
    entry.failures = 0
    if (JSON.stringify(models) !== before) this.#changed(source.ownerId)
  }
}

/** A different address or key may list different models. */
const keyOf = ({ endpoint, updatedAt }: Source): string => `${endpoint.id} ${updatedAt}`
