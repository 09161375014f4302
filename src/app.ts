import type { AddressInfo } from 'node:net'
import { background } from '#modules/background.ts'
import { isOfTemporary, startRuns } from '#modules/chats/service.ts'
import { startCloud } from '#modules/computers/drivers/cloud.ts'
import { INSTALL_PREFIX, openInstall, originFor } from '#modules/computers/install/open-install.ts'
import { createReleases } from '#modules/computers/install/releases.ts'
import { linkMount } from '#modules/computers/link/accept.ts'
import { previewMount } from '#modules/computers/ports/previews.ts'
import { startLinks } from '#modules/computers/link/links.ts'
import { loadContracts } from '#modules/contracts.ts'
import { LINK_PREFIX, openLink } from '#modules/drive/bytes/link.ts'
import { attachSocket } from '#modules/computers/service.ts'
import { createVideoShelf } from '#modules/media/service.ts'
import { events } from '#modules/event-types.ts'
import { startRealtime } from '#modules/realtime/service.ts'
import { type Handles, services } from '#modules/services.ts'
import type { Engine } from '#infra/context.ts'
import { Parts } from '#infra/processes/parts.ts'
import { startRelay } from '#infra/outbox/relay.ts'
import { appMount } from '#interfaces/app/mount.ts'
import { docsMounts } from '#interfaces/docs/docs.ts'
import { createToolbox } from '#interfaces/mcp/tools/toolbox.ts'
import { mcpMount } from '#interfaces/mcp/mount.ts'
import { registry } from '#core/registry.ts'
import { createAgentDoor } from '#pipeline/agent/agent.ts'
import type { Entrance } from '#pipeline/entrance.ts'
import { type Door, createDoor } from '#pipeline/http.ts'
import { bytesMount } from '#pipeline/rest/bytes-mount.ts'
import { createLine } from '#pipeline/invoke.ts'
import { listen, originAt } from '#pipeline/listen.ts'
import { createOrigins } from '#pipeline/origin.ts'
import { callerSockets } from '#pipeline/upgrade/caller-sockets.ts'
import { healthMounts } from './health.ts'
import { createEngine } from './create-engine.ts'
import { type AppOptions, LateParts, openServices } from './open-services.ts'

export type { AppOptions } from './open-services.ts'

export interface App extends AsyncDisposable {
  /** `http://127.0.0.1:4242` */
  origin: string
  engine: Engine<Handles>
  door: Door
  readonly down: string | null
}

export async function startApp(options: AppOptions): Promise<App> {
  const { config, log, waits, programRoot, services: further = [], sockets = [], operations: kinds = [] } = options
  await using parts = new Parts()
  const late = new LateParts()
  const opened = await openServices(options, parts, late)
  const { server, bus, process, leases, authority, jobs, versions, limits, metrics, gateway, watch } = opened
  const entries = registry([...services, ...further])
  const tools = createToolbox(entries)
  const engine = await createEngine(options, parts, opened, tools, late)
  const line = createLine(engine, entries)
  late.line = line
  late.videos = createVideoShelf(engine)
  const links = parts.use('links of computers', await startLinks(engine, waits?.computers))
  late.links = links
  await process.listensAt(links.peer)
  const releases = createReleases({
    dataDir: config.dataDir,
    log,
    ...(programRoot !== undefined && { root: programRoot }),
  })
  const daemons = linkMount(engine, links.live, releases)
  late.cloud = parts.use('cloud computers', await startCloud({ engine, leases, config, mount: daemons }))
  const runs = parts.use('runs', startRuns(engine))
  late.runs = runs
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
        openInstall(releases, request, originFor(config.publicUrl, late.origin, request.host)),
      ),
      ...healthMounts({ metrics, postgres: watch, draining: () => door.draining() }),
      mcpMount(createAgentDoor({ ...entrance, closing })),
      appMount({
        checkHost: origins.checkHost,
        dataDir: config.dataDir,
        warn: (error, message) => log.error({ error }, message),
      }),
      ...docsMounts(await loadContracts(), {
        origin: () => late.origin,
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
  late.origin = originAt(config, port)
  // After `origin` is known, because emails contain links.
  await jobs.work(handlers, schedules)
  const running = parts.move()
  return {
    origin: late.origin,
    engine,
    door,
    get down() {
      return running.down
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}
