import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Context } from '#infra/context.ts'
import { RetrieveFailed, retrieve } from '#packages/http-client/retrieve.ts'
import { type Snapshot, shippedCatalogue } from '#gateway/catalogue/catalogue.ts'
import { mergeFetched } from '#gateway/catalogue/merge.ts'
import type { CatalogueModel } from '#gateway/catalogue/model.ts'
import { type FetchedSnapshot, NoCatalogue, readFetched } from '#gateway/catalogue/read-fetched.ts'
import { refuse } from '#core/errors.ts'
import { excessOf } from '#packages/json-scan/json-text.ts'
import type { CatalogueRow } from './catalogue-store.ts'

const MAX_BYTES = 32 << 20
const CATALOGUE = { values: 1_000_000, depth: 64 }
const TIMEOUT_MS = 30_000
const LARGEST = 20

export interface FetchedCatalogue {
  sha256: string
  /**
   * Builds the row to store after `newest`. Refuses a catalogue that lost over half of its prices, unless `force` is
   * set.
   */
  against(
    newest: { source_url: string; priced_count: number; snapshot: string } | undefined,
    force: boolean,
  ): Omit<CatalogueRow, 'id' | 'created_by' | 'created_at'> & { snapshot: string }
}

/** Refuses with 502 or 504. */
export async function fetchCatalogue({ engine, signal, now }: Context): Promise<FetchedCatalogue> {
  const url = new URL(engine.config.catalogueUrl)
  const bytes = await bytesAt(engine, url, signal)
  const sha256 = hash('sha256', bytes)
  const { snapshot, skipped } = parseSnapshot(bytes, now().toISOString().slice(0, 10), sha256.slice(0, 12))
  const pricedCount = snapshot.models.filter(({ pricing }) => pricing !== null).length
  return {
    sha256,
    against(newest, force) {
      if (!force && newest?.source_url === url.href && pricedCount * 2 < newest.priced_count)
        refuse('provider_error', {
          message: `The new catalogue has prices for ${pricedCount} models, and the previous one had ${newest.priced_count}. Set \`force\` to use it anyway.`,
        })
      const before = newest === undefined ? null : (JSON.parse(newest.snapshot) as Snapshot)
      return {
        source_url: url.href,
        sha256,
        models_count: snapshot.models.length,
        priced_count: pricedCount,
        changes: { ...changes(before, snapshot), skipped },
        snapshot: JSON.stringify(snapshot),
      }
    },
  }
}

async function bytesAt(engine: Context['engine'], url: URL, signal: AbortSignal): Promise<Buffer> {
  try {
    const { status, bytes } = await retrieve(engine.outside, {
      url,
      headers: ['accept', 'application/json', 'user-agent', 'ukiyo'],
      mostBytes: MAX_BYTES,
      timeoutMs: TIMEOUT_MS,
      hops: 3,
      credential: '',
      party: 'catalogue',
      signal,
    })
    if (status !== 200) refuse('provider_error', { message: `The catalogue URL returned status ${status}.` })
    return bytes
  } catch (error) {
    if (!(error instanceof RetrieveFailed)) throw error
    return refuse(error.why === 'too_slow' ? 'timeout' : 'provider_error', { message: error.message })
  }
}

function parseSnapshot(bytes: Buffer, day: string, version: string): FetchedSnapshot {
  const excess = excessOf(bytes, CATALOGUE)
  if (excess !== null)
    refuse('provider_error', { message: `The downloaded file isn’t a catalogue. It contains ${excess}.` })
  try {
    return readFetched(JSON.parse(bytes.toString()), day, version)
  } catch (error) {
    if (!(error instanceof NoCatalogue || error instanceof SyntaxError)) throw error
    return refuse('provider_error', {
      message: `The downloaded file isn’t a catalogue. ${error instanceof NoCatalogue ? error.message : 'It isn’t valid JSON.'}`,
    })
  }
}

function changes(before: Snapshot | null, snapshot: Snapshot) {
  const baseCatalogue = shippedCatalogue()
  const earlier = before === null ? baseCatalogue : mergeFetched(baseCatalogue, before)
  const old = new Map(earlier.models.map((model) => [model.slug, model]))
  const now = mergeFetched(baseCatalogue, snapshot).models
  const repricedModels = now.flatMap((model) => {
    const previous = old.get(model.slug)
    return previous !== undefined && !isDeepStrictEqual(previous.pricing, model.pricing)
      ? [{ slug: model.slug, before: figures(previous), now: figures(model) }]
      : []
  })
  return {
    added: now.filter(({ slug }) => !old.has(slug)).length,
    repriced: repricedModels.length,
    largest: repricedModels.toSorted((a, b) => move(b) - move(a)).slice(0, LARGEST),
  }
}

interface Figures {
  input: number
  output: number
}
const figures = ({ pricing }: CatalogueModel): Figures | null =>
  pricing && { input: Number(pricing.input), output: Number(pricing.output) }

function move({ before, now }: { before: Figures | null; now: Figures | null }): number {
  const sum = (of: Figures | null): number => (of === null ? 0 : of.input + of.output)
  const [old, fresh] = [sum(before), sum(now)]
  if (old === fresh) return 1
  return old === 0 || fresh === 0 ? Number.MAX_VALUE : Math.max(old / fresh, fresh / old)
}
