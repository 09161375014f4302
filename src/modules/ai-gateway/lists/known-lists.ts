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
const MAX_LISTS = 10_000

interface CachedList {
  models: readonly ListedModel[] | null
  failure: AskFailed | null
  failures: number
  at: number
  running: Promise<void> | null
}

type ResultListener = (source: Source, outcome: { latencyMs: number; models: number } | AskFailed) => void

export class KnownLists {
  readonly #lists = new Map<string, CachedList>()
  readonly #outbound: Outbound
  readonly #log: Log
  readonly #onChange: (ownerId: Id) => void
  readonly #onResult: ResultListener

  constructor(outbound: Outbound, log: Log, onChange: (ownerId: Id) => void, onResult: ResultListener) {
    this.#outbound = outbound
    this.#log = log
    this.#onChange = onChange
    this.#onResult = onResult
  }

  of(source: Source): readonly ListedModel[] | null {
    return this.#lists.get(keyOf(source))?.models ?? null
  }

  whyUnknown(source: Source): AskFailed | null {
    const cachedList = this.#lists.get(keyOf(source))
    return cachedList === undefined || cachedList.models !== null ? null : cachedList.failure
  }

  askSilent(source: Source, timeoutMs: number): Promise<void> {
    const failures = this.#lists.get(keyOf(source))?.failures ?? 0
    return this.ask(source, timeoutMs, failures === 0 ? REFRESH_MS : Math.min(REFRESH_MS, 500 * 2 ** failures))
  }

  wasAsked(source: Source): boolean {
    return this.#lists.has(keyOf(source))
  }

  /** Skipped within `again` ms of the last request. Never throws: a failing provider keeps its previous list. */
  ask(source: Source, timeoutMs: number, again = REFRESH_MS): Promise<void> {
    const key = keyOf(source)
    const cachedList = this.#lists.get(key)
    if (cachedList?.running) return cachedList.running
    if (cachedList && performance.now() - cachedList.at < again) return Promise.resolve()
    if (this.#lists.size >= MAX_LISTS) this.#lists.clear()
    const entry: CachedList = {
      models: cachedList?.models ?? null,
      failure: cachedList?.failure ?? null,
      failures: cachedList?.failures ?? 0,
      at: performance.now(),
      running: null,
    }
    this.#lists.set(key, entry)
    const startedAt = performance.now()
    const askFor = source.from === 'discovered' ? askDiscovered : fetchModels
    entry.running = askFor(this.#outbound, source.endpoint, timeoutMs)
      .then((models) => {
        this.#onResult(source, { latencyMs: Math.round(performance.now() - startedAt), models: models.length })
        this.#learn(source, entry, models)
      })
      .catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error)
        entry.failure = error instanceof AskFailed ? error : new AskFailed('It can’t be tested.')
        entry.failures += 1
        this.#onResult(source, entry.failure)
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
    const entry: CachedList = { models: null, failure: null, failures: 0, at: performance.now(), running: null }
    this.#lists.set(keyOf(source), entry)
    this.#learn(source, entry, models)
  }

  refresh(source: Source, timeoutMs: number): void {
    const cachedList = this.#lists.get(keyOf(source))
    if (cachedList && performance.now() - cachedList.at > (cachedList.models === null ? REFRESH_MS : STALE_MS))
      void this.ask(source, timeoutMs)
  }

  #learn(source: Source, entry: CachedList, models: readonly ListedModel[] | null): void {
    const before = JSON.stringify(entry.models)
    entry.models = models
    entry.failure = null
    entry.failures = 0
    if (JSON.stringify(models) !== before) this.#onChange(source.ownerId)
  }
}

/** A different address or key may list different models. */
const keyOf = ({ endpoint, updatedAt }: Source): string => `${endpoint.id} ${updatedAt}`
