import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import type pg from 'pg'
import { createAuthority } from '#areas/accounts/sign-in/authority.ts'
import { createUsageLookup } from '#areas/ai-gateway/usage/usage-lookup.ts'
import { createDirectory } from '#areas/ai-gateway/directory/endpoint-directory.ts'
import { background } from '#areas/background.ts'
import { agentChanged, chatChanged, isHeldBack } from '#areas/automations/service.ts'
import { type Runs, createOutsideTools, startRuns } from '#areas/chats/service.ts'
import { loadContracts } from '#areas/contracts.ts'
import { LINK_PREFIX, openLink } from '#areas/drive/bytes/link.ts'
import { createThumbnails } from '#areas/drive/service.ts'
import { createPushKeys } from '#areas/notifications/service.ts'
import { type OperationKind, OperationWatch } from '#areas/operations/service.ts'
import { events } from '#areas/event-types.ts'
import { openHub, startRealtime } from '#areas/realtime/service.ts'
import { type Handles, services } from '#areas/services.ts'
import { createRobots } from '#areas/web/service.ts'
import type { Config } from '#config'
import { openBlobs } from '#engine/blobs/open.ts'
import { connectBus } from '#engine/bus/bus.ts'
import type { Acting, Context, Engine } from '#engine/context.ts'
import { createDocumentReader } from '#engine/text/documents/reader.ts'
import { createPictureMaker } from '#engine/pictures/maker.ts'
import { startJobs } from '#engine/jobs/jobs.ts'
import { createLeases } from '#engine/processes/leases.ts'
import { createLedger } from '#engine/ledger/create-ledger.ts'
import type { Log } from '#engine/log.ts'
import { createScanner } from '#engine/text/scan/scanner.ts'
import { createMetrics } from '#engine/metrics/metrics.ts'
import { type AddressPolicy, addressPolicy } from '#engine/http-client/address.ts'
import type { Limits } from '#engine/http-client/limits.ts'
import { createOutbound } from '#engine/http-client/outbound.ts'
import { connectPostgres } from '#engine/postgres/client.ts'
import { startProcess } from '#engine/processes/processes.ts'
import { startRelay } from '#engine/outbox/relay.ts'
import { createSecrets } from '#engine/secrets.ts'
import { StartRefused } from '#engine/start-refused.ts'
import { appMount } from '#faces/app/mount.ts'
import { docsMounts } from '#faces/docs/docs.ts'
import { createToolbox } from '#faces/mcp/tools/toolbox.ts'
import { mcpMount } from '#faces/mcp/mount.ts'
import { createKeptItems } from '#engine/kept-items.ts'
import { createGateway } from '#gateway/mount.ts'
import type { Service } from '#kernel/implement.ts'
import { newId } from '#kernel/ids.ts'
import type { Principal } from '#kernel/principal.ts'
import { registry } from '#kernel/registry.ts'
import { createAgentDoor } from '#line/agent/agent.ts'
import { EXPOSED, preflightHead } from '#line/cors.ts'
import { type Door, createDoor } from '#line/http.ts'
import { bytesMount } from '#line/rest/bytes-mount.ts'
import { createLine } from '#line/invoke.ts'
import { boundBy } from '#access/bound-by.ts'
import { createLimits } from '#line/limit.ts'
import { listen, originAt } from '#line/listen.ts'
import { callerFor } from '#line/agent/on-behalf.ts'
import { createOrigins } from '#line/origin.ts'
import { type Version, createVersions } from '#line/version.ts'
import { healthMounts } from './health.ts'

export interface App extends AsyncDisposable {
  /** `http://127.0.0.1:4242` */
  origin: string
  engine: Engine<Handles>
  door: Door
}

export interface AppOptions {
  config: Config
  /** A migrated database. */
  connection: pg.PoolConfig
  rootKeys: readonly string[]
  log: Log
  /** How long and how much of other servers is waited for, where not as `LIMITS` says: only tests are in such a hurry. */
  waits?: Partial<Limits>
  /** Only tests register other versions than the newest. */
  versions?: readonly Version[]
  /** Only tests register further services. */
  services?: readonly Service<Context<Handles>>[]
  /** Only tests register further kinds of operations. */
  operations?: readonly OperationKind<object, Handles>[]
}

/** The only composition root. Disposing drains the door, then takes everything down in reverse. */
export async function startApp({
  config,
  connection,
  rootKeys,
  log,
  waits,
  versions: dated,
  services: further = [],
  operations: kinds = [],
}: AppOptions): Promise<App> {
  await using stack = new AsyncDisposableStack()
  const postgres = stack.use(
    connectPostgres(connection, (error) => log.warn({ error }, 'a connection to the database broke')),
  )
  const bus = stack.use(await connectBus(postgres, log, config.busUrl))
  const process = stack.use(await startProcess({ postgres, log }))
  const leases = createLeases({ postgres, processId: process.id, log })
  const authority = stack.use(await createAuthority(postgres, bus, log))
  const ledger = stack.use(
    createLedger({ postgres, processId: process.id, log, journalDir: join(config.dataDir, 'calls') }),
  )
  const jobs = stack.use(await startJobs({ postgres, process, log }))
  const blobs = stack.use(await openBlobs(config))
  const versions = createVersions(dated)
  const limits = createLimits(config.limits, process.live)
  const metrics = createMetrics()
  const secrets = createSecrets(rootKeys)
  const outbound = stack.use(createOutbound(policyOf('UK_UPSTREAM_ALLOW', config.upstreamAllow), waits))
  const outside = stack.use(createOutbound(policyOf('UK_FETCH_ALLOW', config.fetchAllow), waits))
  const documents = stack.use(createDocumentReader())
  const pictures = stack.use(createPictureMaker())
  const scanner = stack.use(createScanner())
  const endpoints = stack.use(await createDirectory({ config, postgres, secrets, bus, log, outbound }))
  const gateway = createGateway({
    engine: { ledger, log, versions, outside, metrics, items: createKeptItems({ postgres, secrets, log }) },
    authority,
    limits,
    directory: endpoints,
    usageLookup: createUsageLookup({ postgres, ledger }),
    outbound,
    preflightHead,
    exposedHeaders: EXPOSED,
  })
  const entries = registry([...services, ...further])
  const tools = createToolbox(entries)
  let origin = ''
  const hub = stack.use(await openHub({ postgres, bus, secrets, log, events }))
  const engine: Engine<Handles> = {
    config,
    origin: () => config.publicUrl ?? origin,
    postgres,
    secrets,
    bus,
    jobs,
    blobs,
    ledger,
    log,
    outside,
    documents,
    pictures,
    scanner,
    events,
    processId: process.id,
    versions,
    limits,
    rights: authority,
    endpoints,
    completeTurn: gateway.completeTurn,
    embed: gateway.embed,
    previewRoute: gateway.previewRoute,
    providerHealth: gateway.health,
    toolbox: {
      offer: tools.offer,
      reach: tools.reach,
      async call(ctx, name, given) {
        const caller = callerFor({ line, limits, origin: engine.origin() }, ctx)
        const { structuredContent, isError } = await tools.run(name, given, caller, { signal: ctx.signal })
        return { output: structuredContent, is_error: isError === true }
      },
    },
    agentChanged,
    chatChanged,
    hub,
    operationWatch: new OperationWatch({ postgres, bus, log }),
    outsideTools: createOutsideTools(),
    pushKeys: createPushKeys({ postgres, secrets }),
    robots: createRobots(outside),
    thumbnails: createThumbnails(),
    // Begun below: a run calls tools, which are endpoints, which begin runs.
    get runs() {
      return runs
    },
    isHeldBack: (runIds) => isHeldBack(postgres.db, runIds),
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
      const known = await authority.onBehalf(accountId, scopes, workspaceId, payingKeyId)
      const bound = known && (await boundBy(authority, known, lenders))
      const principal = bound && within(bound, run, automationId)
      const caller = { ip: '', userAgent: null, loopback: false }
      const agent = { consented }
      return (
        principal && line.context({ principal, requestId: newId(), version: versions.newest, signal, caller, agent })
      )
    },
  }
  const line = createLine(engine, entries)
  const runs: Runs = stack.use(startRuns(engine))
  stack.use(startRealtime(engine))
  const { handlers, schedules, consumers } = stack.use(background(engine, kinds))
  stack.use(startRelay({ postgres, bus, leases, log, consumers, events }))
  const origins = createOrigins(config)
  const closing = () => door.closing
  const door: Door = createDoor({
    engine,
    line,
    authority,
    limits,
    versions,
    origins,
    metrics,
    mounts: [
      ...gateway.mounts,
      bytesMount(LINK_PREFIX, (method, url) => openLink(engine, method, url)),
      ...healthMounts({ metrics, postgres, draining: () => door.draining() }),
      mcpMount(createAgentDoor({ engine, line, authority, limits, versions, origins, metrics, closing })),
      appMount({
        checkHost: origins.checkHost,
        dataDir: config.dataDir,
        warn: (error, message) => log.error({ error }, message),
      }),
      ...docsMounts(await loadContracts(), { origin: () => config.publicUrl ?? origin, version: versions.newest }),
    ],
  })
  // Together: a caller waits for its run, and a run ends with nobody waiting.
  stack.defer(async () => void (await Promise.all([runs.drain(config.drainSeconds), door.drain(config.drainSeconds)])))
  await listen(door.server, config)
  const { port } = door.server.address() as AddressInfo
  origin = originAt(config, port)
  // Now that links can be written: mails carry some.
  await jobs.work(handlers, schedules)
  const running = stack.move()
  return { origin, engine, door, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

/** The server acting for an account within a run or for an automation. */
function within(principal: Principal, run: Acting['run'], automationId: Acting['automationId']): Principal {
  const { credential } = principal
  if (credential.kind !== 'server' || (run === undefined && automationId === undefined)) return principal
  const of = { ...(run && { run }), ...(automationId !== undefined && { automationId }) }
  return { ...principal, credential: { ...credential, ...of } }
}

function policyOf(setting: string, lines: readonly string[]): AddressPolicy {
  try {
    return addressPolicy(lines)
  } catch (error) {
    throw new StartRefused(`${setting}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
