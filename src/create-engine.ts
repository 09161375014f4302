import { createProvider } from '#modules/accounts/identities/provider.ts'
import { closeEarlierDoors } from '#modules/earlier-doors.ts'
import { agentChanged, chatChanged, isPausedByAgent } from '#modules/automations/service.ts'
import { createChatBatches, createOutsideTools } from '#modules/chats/service.ts'
import { createThumbnails } from '#modules/drive/service.ts'
import { MediaWork } from '#modules/media/service.ts'
import { createPushKeys } from '#modules/notifications/service.ts'
import { OperationWatch } from '#modules/operations/service.ts'
import { events } from '#modules/event-types.ts'
import { openHub } from '#modules/realtime/service.ts'
import type { Handles } from '#modules/services.ts'
import { createRobots } from '#modules/web/service.ts'
import type { Engine } from '#infra/context.ts'
import type { Parts } from '#infra/processes/parts.ts'
import type { createToolbox } from '#interfaces/mcp/tools/toolbox.ts'
import { newId } from '#core/ids.ts'
import { withinRightsOf, withinRun } from '#authz/within-rights.ts'
import { callerFor } from '#pipeline/agent/on-behalf.ts'
import type { AppOptions, LateParts, Services } from './open-services.ts'

export async function createEngine(
  { config, log, waits }: AppOptions,
  parts: Parts,
  services: Services,
  tools: ReturnType<typeof createToolbox>,
  late: LateParts,
): Promise<Engine<Handles>> {
  const {
    server,
    bus,
    process,

    authority,
    ledger,
    requestLog,
    jobs,
    blobs,
    versions,
    limits,
    secrets,
    outside,
    documents,
    pictures,
    media,
    scanner,
    endpoints,
    voices,
    gateway,
    postgres,
  } = services
  const hub = parts.use('the hub', await openHub({ postgres: server, bus, secrets, log, events }))
  const engine: Engine<Handles> = {
    config,
    origin: () => config.publicUrl ?? late.origin,
    postgres,
    secrets,
    bus,
    jobs,
    blobs,
    ledger,
    requestLog,
    log,
    outside,
    headMs: waits?.silenceMs ?? 10_000,
    documents,
    pictures,
    media,
    scanner,
    events,
    processId: process.id,
    versions,
    limits,
    rights: authority,
    endpoints,
    voices,
    completeTurn: gateway.completeTurn,
    embed: gateway.embed,
    previewRoute: gateway.previewRoute,
    providerHealth: gateway.health,
    mediaGateway: gateway.media,
    mediaWork: parts.use('calls of media', new MediaWork(log)),
    toolbox: {
      offer: tools.offer,
      reach: tools.reach,
      async call(ctx, name, input) {
        const caller = callerFor({ line: late.line, limits, origin: engine.origin() }, ctx)
        const { structuredContent, isError } = await tools.run(name, input, caller, { signal: ctx.signal })
        return { output: structuredContent, is_error: isError === true }
      },
    },
    agentChanged,
    chatChanged,
    closeEarlierDoors,
    chatBatches: createChatBatches({ postgres: server, log }),
    hub,
    operationWatch: new OperationWatch({ postgres: server, bus, log }),
    outsideTools: createOutsideTools(waits?.listingMs),
    pushKeys: createPushKeys({ postgres: server, secrets }),
    // Loaded on demand: only administrators use it.
    checkUp: async () => (await import('./ops/doctor/within.ts')).checkWithin(engine),
    identityProvider: createProvider({ config, outside, log }),
    robots: createRobots(outside),
    thumbnails: createThumbnails(),
    // Created later: runs call tools, which are endpoints, which start runs.
    get runs() {
      return late.runs
    },
    get links() {
      return late.links
    },
    get cloud() {
      return late.cloud
    },
    isPausedByAgent: (runIds) => isPausedByAgent(postgres.db, runIds),
    actAs: actingWith(services, late),
  }
  return engine
}

/** Creates contexts for the server acting as an account, within the rights of its lenders and its run. */
const actingWith =
  ({ authority, versions }: Services, late: LateParts): Engine<Handles>['actAs'] =>
  async ({
    accountId,
    scopes,
    workspaceId,
    payingKeyId,
    run,
    automationId,
    lenders = [],
    consented = false,
    signal,
  }) => {
    const actingPrincipal = await authority.onBehalf(accountId, scopes, workspaceId, payingKeyId)
    const limitedPrincipal = actingPrincipal && (await withinRightsOf(authority, actingPrincipal, lenders))
    const principal = limitedPrincipal && withinRun(limitedPrincipal, run, automationId)
    const caller = { ip: '', userAgent: null, loopback: false, origin: null }
    const agent = { consented }
    return (
      principal && late.line.context({ principal, requestId: newId(), version: versions.newest, signal, caller, agent })
    )
  }
