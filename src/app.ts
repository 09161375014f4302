import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import type pg from 'pg'
import { createProvider } from '#modules/accounts/identities/provider.ts'
import { createAuthority } from '#modules/accounts/sign-in/authority.ts'
import { createUsageLookup } from '#modules/ai-gateway/usage/usage-lookup.ts'
import { createDirectory } from '#modules/ai-gateway/directory/endpoint-directory.ts'
import { createVoices } from '#modules/ai-gateway/voices/voices.ts'
import { background } from '#modules/background.ts'
import { closeEarlierDoors } from '#modules/earlier-doors.ts'
import { agentChanged, chatChanged, isPausedByAgent } from '#modules/automations/service.ts'
import { type Runs, createChatBatches, createOutsideTools, isOfTemporary, startRuns } from '#modules/chats/service.ts'
import { startCloud } from '#modules/computers/drivers/cloud.ts'
import type { Cloud } from '#modules/computers/drivers/handle.ts'
import { INSTALL_PREFIX, openInstall, originFor } from '#modules/computers/install/open-install.ts'
import { createReleases } from '#modules/computers/install/releases.ts'
import { linkMount } from '#modules/computers/link/accept.ts'
import { previewMount } from '#modules/computers/ports/previews.ts'
import type { UseLimits } from '#modules/computers/link/limits.ts'
import { type RunningLinks, startLinks } from '#modules/computers/link/links.ts'
import { loadContracts } from '#modules/contracts.ts'
import { LINK_PREFIX, openLink } from '#modules/drive/bytes/link.ts'
import { attachSocket, createMachines } from '#modules/computers/service.ts'
import { createThumbnails } from '#modules/drive/service.ts'
import { MediaWork, createVideoShelf } from '#modules/media/service.ts'
import { createPushKeys } from '#modules/notifications/service.ts'
import { type OperationKind, OperationWatch } from '#modules/operations/service.ts'
import { events } from '#modules/event-types.ts'
import { openHub, startRealtime } from '#modules/realtime/service.ts'
import { type Handles, services } from '#modules/services.ts'
import { createRobots } from '#modules/web/service.ts'
import type { Config } from '#config'
import { openBlobs } from '#infra/blobs/open.ts'
import { connectBus } from '#infra/bus/bus.ts'
import type { CallerSocket } from '#infra/caller-socket.ts'
import type { Context, Engine } from '#infra/context.ts'
import { createDocumentReader } from '#infra/text/documents/reader.ts'
import { createPictureMaker } from '#infra/pictures/maker.ts'
import { fileTooLarge } from '#infra/media/file-too-large.ts'
import { createMedia } from '#packages/media-tools/media.ts'
import { startJobs } from '#infra/jobs/jobs.ts'
import { createLeases } from '#infra/processes/leases.ts'
import { createLedger } from '#infra/ledger/create-ledger.ts'
import { createRequestLog } from '#infra/request-log/request-log.ts'
import type { Log } from '#infra/log.ts'
import { createScanner } from '#infra/text/scan/scanner.ts'
import { createMetrics } from '#infra/metrics/metrics.ts'
import { type AddressPolicy, addressPolicy } from '#packages/http-client/address.ts'
import type { Limits } from '#packages/http-client/limits.ts'
import { createOutbound } from '#packages/http-client/outbound.ts'
import { openConnections } from '#infra/postgres/client.ts'
import { Parts } from '#infra/processes/parts.ts'
import { startProcess } from '#infra/processes/processes.ts'
import { startRelay } from '#infra/outbox/relay.ts'
import { createSecrets } from '#infra/secrets.ts'
import { StartRefused } from '#infra/start-refused.ts'
import { appMount } from '#interfaces/app/mount.ts'
import { docsMounts } from '#interfaces/docs/docs.ts'
import { createToolbox } from '#interfaces/mcp/tools/toolbox.ts'
import { mcpMount } from '#interfaces/mcp/mount.ts'
import { createKeptItems } from '#infra/kept-items.ts'
import { createGateway } from '#gateway/mount.ts'
import type { Service } from '#core/implement.ts'
import { newId } from '#core/ids.ts'
import { registry } from '#core/registry.ts'
import { createAgentDoor } from '#pipeline/agent/agent.ts'
import { EXPOSED, preflightHead } from '#pipeline/cors.ts'
import type { Entrance } from '#pipeline/entrance.ts'
import { type Door, createDoor } from '#pipeline/http.ts'
import { bytesMount } from '#pipeline/rest/bytes-mount.ts'
import { createLine } from '#pipeline/invoke.ts'
import { watchRights } from '#authz/rights.ts'
import { withinRightsOf, withinRun } from '#authz/within-rights.ts'
import { createLimits } from '#pipeline/limit.ts'
import { listen, originAt } from '#pipeline/listen.ts'
import { callerFor } from '#pipeline/agent/on-behalf.ts'
import { createOrigins } from '#pipeline/origin.ts'
import { callerSockets } from '#pipeline/upgrade/caller-sockets.ts'
import { type Version, createVersions } from '#pipeline/version.ts'
import { healthMounts } from './health.ts'

export interface App extends AsyncDisposable {
  /** `http://127.0.0.1:4242` */
  origin: string
  engine: Engine<Handles>
  door: Door
  readonly down: string | null
}

export interface AppOptions {
  config: Config
  connection: pg.PoolConfig
  rootKeys: readonly string[]
  log: Log
  /** Overrides `LIMITS` for other servers. Only for tests. */
  waits?: Partial<Limits> & { silenceMs?: number; listingMs?: number; computers?: Partial<UseLimits> }
  /** Only for tests. */
  versions?: readonly Version[]
  /** Additional services, caller sockets, and operation kinds. Only for tests. */
  services?: readonly Service<Context<Handles>>[]
  sockets?: readonly CallerSocket<Handles>[]
  operations?: readonly OperationKind<object, Handles>[]
  /** The folder of the daemon's program. Only for tests. */
  programRoot?: string
}

export async function startApp({
  config,
  connection,
  rootKeys,
  log,
  waits,
  versions: versionList,
  services: further = [],
  sockets = [],
  operations: kinds = [],
  programRoot,
}: AppOptions): Promise<App> {
  await using parts = new Parts()
  const connections = parts.use(
    'the connections to the database',
    openConnections(connection, (error) => log.warn({ error }, 'connection to the database lost')),
  )
  const { postgres, watch, ledger: books } = connections
  const server = postgres.forServer
  const bus = parts.use('the bus', await connectBus(server, log, config.busUrl))
  const process = parts.use('the lease of this process', await startProcess({ postgres: watch, log }))
  parts.use('the meeting of processes', process.meetOthers(bus))
  const leases = createLeases({ postgres: watch, processId: process.id, log })
  const rights = parts.use('changes of rights', await watchRights(watch, bus, log))
  const authority = parts.use(
    'rights',
    createAuthority({ postgres: connections.rights, bus, log, rights, processes: process.live }),
  )
  const ledger = parts.use(
    'the ledger',
    createLedger({ postgres: books, processId: process.id, log, journalDir: join(config.dataDir, 'calls') }),
  )
  const requestLog = parts.use('the log of requests', createRequestLog({ postgres: server, log, config }))
  const jobs = parts.use('jobs', await startJobs({ postgres: server, process, log }))
  const blobs = parts.use('blobs', await openBlobs(config))
  const versions = createVersions(versionList)
  const limits = createLimits(config.limits, process.live)
  const metrics = createMetrics()
  const secrets = createSecrets(rootKeys)
  const outbound = parts.use(
    'calls of providers',
    createOutbound(policyOf('UK_UPSTREAM_ALLOW', config.upstreamAllow), waits),
  )
  const outside = parts.use('calls of others', createOutbound(policyOf('UK_FETCH_ALLOW', config.fetchAllow), waits))
  const documents = parts.use('the reader of documents', createDocumentReader())
  const pictures = parts.use('the maker of pictures', createPictureMaker())
  const media = parts.use('media', await createMedia({ folder: join(config.dataDir, 'media'), tooLarge: fileTooLarge }))
  const scanner = parts.use('the scanner', createScanner())
  const ownSpeech = { ...media.speech, formats: media.converter.formats }
  const endpoints = parts.use(
    'provider endpoints',
    await createDirectory({
      config,
      postgres: server,
      secrets,
      bus,
      log,
      outbound,
      rights,
      machines: createMachines(server.db, () => links),
      speech: ownSpeech,
    }),
  )
  const voices = createVoices({ outbound, directory: endpoints, speech: ownSpeech, log })
  const items = createKeptItems({ postgres: server, secrets, log })
  const gateway = createGateway({
    engine: { ledger, requestLog, log, media, versions, outside, metrics, items },
    authority,
    limits,
    directory: endpoints,
    usageLookup: createUsageLookup({ postgres: server, ledger }),
    outbound,
    mediaAnswerBytes: config.mediaAnswerBytes,
    keepAliveMs: waits?.silenceMs,
    // Created below: they are kept by endpoints, which call models.
    videos: () => videos,
    preflightHead,
    exposedHeaders: EXPOSED,
  })
  const entries = registry([...services, ...further])
  const tools = createToolbox(entries)
  let origin = ''
  const hub = parts.use('the hub', await openHub({ postgres: server, bus, secrets, log, events }))
  const engine: Engine<Handles> = {
    config,
    origin: () => config.publicUrl ?? origin,
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
        const caller = callerFor({ line, limits, origin: engine.origin() }, ctx)
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
    // Created below: runs call tools, which are endpoints, which start runs.
    get runs() {
      return runs
    },
    get links() {
      return links
    },
    get cloud() {
      return cloud
    },
    isPausedByAgent: (runIds) => isPausedByAgent(postgres.db, runIds),
    async actAs({
      accountId,
      scopes,
      workspaceId,
      payingKeyId,
      run,
      automationId,
      lenders = [],
      consented = false,
      signal,
    }) {
      const actingPrincipal = await authority.onBehalf(accountId, scopes, workspaceId, payingKeyId)
      const limitedPrincipal = actingPrincipal && (await withinRightsOf(authority, actingPrincipal, lenders))
      const principal = limitedPrincipal && withinRun(limitedPrincipal, run, automationId)
      const caller = { ip: '', userAgent: null, loopback: false, origin: null }
      const agent = { consented }
      return (
        principal && line.context({ principal, requestId: newId(), version: versions.newest, signal, caller, agent })
      )
    },
  }
  const line = createLine(engine, entries)
  const videos = createVideoShelf(engine)
  const links: RunningLinks = parts.use('links of computers', await startLinks(engine, waits?.computers))
  await process.listensAt(links.peer)
  const releases = createReleases({
    dataDir: config.dataDir,
    log,
    ...(programRoot !== undefined && { root: programRoot }),
  })
  const daemons = linkMount(engine, links.live, releases)
  const cloud: Cloud = parts.use('cloud computers', await startCloud({ engine, leases, config, mount: daemons }))
  const runs: Runs = parts.use('runs', startRuns(engine))
  parts.use('realtime', startRealtime(engine))
  const { handlers, schedules, consumers } = parts.use('background work', background(engine, kinds))
  parts.use('the relay', startRelay({ postgres: server, bus, leases, log, consumers, events, unheard: isOfTemporary }))
  const origins = createOrigins(config)
  const closing = () => door.closing
  const entrance: Entrance = { engine, line, authority, limits, versions, origins, metrics }
  const door: Door = createDoor({
    ...entrance,
    mounts: [
      ...gateway.mounts,
      bytesMount(LINK_PREFIX, origins, ({ method, url }) => openLink(engine, method, url)),
      bytesMount(INSTALL_PREFIX, origins, (request) =>
        openInstall(releases, request, originFor(config.publicUrl, origin, request.host)),
      ),
      ...healthMounts({ metrics, postgres: watch, draining: () => door.draining() }),
      mcpMount(createAgentDoor({ ...entrance, closing })),
      appMount({
        checkHost: origins.checkHost,
        dataDir: config.dataDir,
        warn: (error, message) => log.error({ error }, message),
      }),
      ...docsMounts(await loadContracts(), {
        origin: () => origin,
        publicUrl: config.publicUrl,
        checkHost: origins.checkHost,
        version: versions.newest,
      }),
    ],
    hosts: parts.use('previews', previewMount(engine, authority)),
    upgrades: [daemons, callerSockets({ ...entrance, closing, sockets: [attachSocket, ...sockets] })],
  })
  // Before its dependencies: a background command keeps its computer's link busy for days.
  parts.defer('jobs', () => jobs[Symbol.asyncDispose]())
  // Together: a caller waits for its run, and the run ends even if no one waits.
  parts.defer('requests and runs', async () => {
    await Promise.all([runs.drain(config.drainSeconds), door.drain(config.drainSeconds)])
  })
  await listen(door.server, config)
  const { port } = door.server.address() as AddressInfo
  origin = originAt(config, port)
  // After `origin` is known, because emails contain links.
  await jobs.work(handlers, schedules)
  const running = parts.move()
  return {
    origin,
    engine,
    door,
    get down() {
      return running.down
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

function policyOf(setting: string, lines: readonly string[]): AddressPolicy {
  try {
    return addressPolicy(lines)
  } catch (error) {
    throw new StartRefused(`${setting}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
