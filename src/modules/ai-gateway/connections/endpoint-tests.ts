import type { Engine } from '#infra/context.ts'
import { type Schedule, every } from '#infra/jobs/schedules.ts'
import type { Log } from '#infra/log.ts'
import type { Outbound } from '#packages/http-client/outbound.ts'
import type { Postgres } from '#infra/postgres/client.ts'
import type { Catalogue } from '#gateway/catalogue/catalogue.ts'
import type { Id } from '#core/ids.ts'
import { rowsOf } from '../catalogues/rows.ts'
import { hasKey } from '../endpoints/presets.ts'
import { needsModelList, type Source } from '../endpoints/sources.ts'
import type { KnownLists } from '../lists/known-lists.ts'
import { type EndpointRow, endpointStore } from '../store.ts'
import type { Standing, TestOutcome } from './connection-state.ts'
import { connectionStore } from './connection-store.ts'
import { retainRefusedModels } from './refused-models.ts'
import type { Connections } from './connections.ts'
import { startRetests } from './retests.ts'
import { testConnection } from './test-connection.ts'

export interface EndpointTestParts {
  outbound: Outbound
  postgres: Postgres
  log: Log
  asked: KnownLists
  connections: Connections
  fixed: readonly Source[]
  /** Null: its key can't be decrypted. */
  sourceOf(row: EndpointRow): Source | null
  catalogue(): Catalogue
}

export interface EndpointTests extends AsyncDisposable {
  test(row: EndpointRow): Promise<TestOutcome>
  standings(sources: readonly (Source | null)[]): Promise<Standing[]>
}

export function createEndpointTests({
  outbound,
  postgres,
  log,
  asked,
  connections,
  fixed,
  sourceOf,
  catalogue,
}: EndpointTestParts): EndpointTests {
  async function test(source: Source): Promise<TestOutcome> {
    const { outcome, models } = await testConnection(outbound, source)
    if (models !== null) asked.learn(source, models)
    const { connection } = source.endpoint
    if (connection !== undefined) await connections.recordTest(connection, outcome, needsModelList(source))
    return outcome
  }

  async function retest(connection: Id): Promise<void> {
    const own = fixed.find(({ endpoint }) => endpoint.connection === connection)
    const row = own === undefined ? await endpointStore.byConnection(postgres.db, connection) : undefined
    const source = own ?? (row !== undefined && hasKey(row) ? sourceOf(row) : null)
    // Can't be tested until its settings change, which creates a new connection.
    if (source === null) await connectionStore.rest(postgres.db, connection)
    else await test(source)
  }

  const retests = startRetests({
    db: postgres.db,
    log,
    // Local engines are polled separately.
    own: fixed.flatMap(({ from, endpoint }) => (from === 'environment' && endpoint.connection) || []),
    test: retest,
  })

  return {
    async test(row) {
      const source = sourceOf(row)
      if (source === null) throw new Error('the key of this endpoint cannot be opened')
      return test(source)
    },
    async standings(sources) {
      const states = await connections.states(sources.flatMap((source) => source?.endpoint.connection ?? []))
      return sources.map((source) => {
        const state = states.get(source?.endpoint.connection ?? '') ?? null
        const list = source === null ? null : asked.of(source)
        const hasModels = source !== null && (list !== null || !needsModelList(source))
        return {
          state,
          modelsCount: hasModels ? rowsOf(source, list, catalogue()).length : (state?.modelsCount ?? null),
        }
      })
    },
    [Symbol.asyncDispose]: () => retests[Symbol.asyncDispose](),
  }
}

export const connectionSchedules = ({ postgres }: Engine): Schedule[] => [
  every('provider_connections.retain', 86_400, async () => {
    await connectionStore.retain(postgres.db)
    await retainRefusedModels(postgres.db)
  }),
]
