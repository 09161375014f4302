import { join } from 'node:path'
import type pg from 'pg'
import { createAuthority } from '#modules/accounts/sign-in/authority.ts'
import { createUsageLookup } from '#modules/ai-gateway/usage/usage-lookup.ts'
import { createDirectory } from '#modules/ai-gateway/directory/endpoint-directory.ts'
import { createVoices } from '#modules/ai-gateway/voices/voices.ts'
import type { Runs } from '#modules/chats/service.ts'
import type { Cloud } from '#modules/computers/drivers/handle.ts'
import type { UseLimits } from '#modules/computers/link/limits.ts'
import type { RunningLinks } from '#modules/computers/link/links.ts'
import { createMachines } from '#modules/computers/service.ts'
import type { createVideoShelf } from '#modules/media/service.ts'
import type { OperationKind } from '#modules/operations/service.ts'
import type { Handles } from '#modules/services.ts'
import type { Config } from '#config'
import { openBlobs } from '#infra/blobs/open.ts'
import { connectBus } from '#infra/bus/bus.ts'
import type { CallerSocket } from '#infra/caller-socket.ts'
import type { Context } from '#infra/context.ts'
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
import type { Parts } from '#infra/processes/parts.ts'
import { startProcess } from '#infra/processes/processes.ts'
import { createSecrets } from '#infra/secrets.ts'
import { StartRefused } from '#infra/start-refused.ts'
import { createKeptItems } from '#infra/kept-items.ts'
import { createGateway } from '#gateway/mount.ts'
import type { Service } from '#core/implement.ts'
import { EXPOSED, preflightHead } from '#pipeline/cors.ts'
import { watchRights } from '#authz/rights.ts'
import { createLimits } from '#pipeline/limit.ts'
import { type Version, createVersions } from '#pipeline/version.ts'
import type { Line } from '#pipeline/invoke.ts'

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

/** Parts that are created after the parts that use them. They are set before the server accepts calls. */
export class LateParts {
  links!: RunningLinks
  runs!: Runs
  cloud!: Cloud
  line!: Line<Handles>
  videos!: ReturnType<typeof createVideoShelf>
  /** Set when the server listens. */
  origin = ''
}

export async function openServices(
  { config, connection, rootKeys, log, waits, versions: versionList }: AppOptions,
  parts: Parts,
  late: LateParts,
) {
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
      machines: createMachines(server.db, () => late.links),
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
    // Created later: videos are kept by endpoints, which call models.
    videos: () => late.videos,
    preflightHead,
    exposedHeaders: EXPOSED,
  })
  return {
    server,
    bus,
    process,
    leases,
    rights,
    authority,
    ledger,
    requestLog,
    jobs,
    blobs,
    versions,
    limits,
    metrics,
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
    watch,
  }
}

export type Services = Awaited<ReturnType<typeof openServices>>

function policyOf(setting: string, lines: readonly string[]): AddressPolicy {
  try {
    return addressPolicy(lines)
  } catch (error) {
    throw new StartRefused(`${setting}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
