import type { Outbound } from '#packages/http-client/outbound.ts'
import type { ProviderEndpoint } from '#gateway/model/offer.ts'
import { quirksOwner } from '#gateway/providers/supports.ts'
import { originOf } from '../endpoints/address.ts'
import { presetOf } from '../endpoints/presets.ts'
import { needsModelList, type Source } from '../endpoints/sources.ts'
import { AskFailed } from '../lists/ask-provider.ts'
import { type ListedModel, probe } from '../lists/list-models.ts'
import type { Reason, TestOutcome } from './connection-state.ts'

const TEST_MS = 10_000
/** Statuses of servers without a model list at this path. */
const NO_LIST: ReadonlySet<number | null> = new Set([200, 404, 405, 501])

export type ConnectionTest = { outcome: TestOutcome; models: readonly ListedModel[] | null }

export async function testConnection(outbound: Outbound, source: Source): Promise<ConnectionTest> {
  const { endpoint } = source
  const startedAt = performance.now()
  const latencyMs = (): number => Math.round(performance.now() - startedAt)
  try {
    const models = await probe(outbound, endpoint, TEST_MS)
    const count = quirksOwner(endpoint)?.lists === false ? null : models.length
    return { outcome: { ok: true, latencyMs: latencyMs(), models: count, provesKey: provesKey(endpoint) }, models }
  } catch (error) {
    if (!(error instanceof AskFailed)) throw error
    return {
      outcome: { ok: false, latencyMs: latencyMs(), ...describeFailure(error, source) },
      models: null,
    }
  }
}

export const describeFailure = (failure: AskFailed, source: Source): { kind: Reason; message: string } => ({
  kind: reasonOf(failure, source),
  message: failure.message,
})

function reasonOf({ status, kind }: AskFailed, source: Source): Reason {
  if (NO_LIST.has(status)) return needsModelList(source) ? 'garbage' : 'no_list'
  // Only a wrong address explains these faults here.
  return kind === 'bad_request' || kind === 'model_not_found' || kind === 'context_length' ? 'garbage' : kind
}

/** True for a vendor at its own address. Other servers may accept any key. */
export function provesKey({ preset, baseUrl }: ProviderEndpoint): boolean {
  const definition = presetOf(preset)
  return (
    definition !== null &&
    !definition.local &&
    definition.base_url !== null &&
    originOf(definition.base_url) === originOf(baseUrl)
  )
}
