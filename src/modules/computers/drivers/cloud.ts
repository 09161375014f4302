import type { Config } from '#config'
import type { Engine } from '#infra/context.ts'
import type { Leases } from '#infra/processes/leases.ts'
import type { UpgradeMount } from '#core/http/exchange.ts'
import type { HasLinks } from '../link/links.ts'
import { bubblewrap } from './bubblewrap/bubblewrap.ts'
import { docker } from './docker/docker.ts'
import { type Driver, DriverFault, type Probe } from './driver.ts'
import type { Cloud } from './handle.ts'
import { openHost } from './host.ts'
import { listenForDaemons } from './link-socket.ts'
import { roomIn } from './limits/room.ts'
import { reconcileComputers } from './reconcile/reconcile.ts'
import { placeProgram } from './inside/program.ts'
import { join } from 'node:path'

export interface CloudParts {
  engine: Engine<HasLinks>
  leases: Leases
  config: Config
  mount: UpgradeMount
}

export async function startCloud({ engine, leases, config, mount }: CloudParts): Promise<Cloud & AsyncDisposable> {
  if (config.computerDrivers.length === 0) return OFF
  await using stack = new AsyncDisposableStack()
  const host = openHost(config.dataDir)
  let programFolder: Promise<string> | undefined
  const program = (): Promise<string> => {
    programFolder ??= placeProgram(join(host.folder, 'program'))
    programFolder.catch(() => (programFolder = undefined))
    return programFolder
  }
  const parts = { host, program, version: engine.versions.newest }
  const drivers = config.computerDrivers.map((name) =>
    name === 'docker' ? docker({ ...parts, ...config.docker }) : bubblewrap(parts),
  )
  stack.use(await listenForDaemons(host.sockets, engine.processId, mount))
  const probing = Promise.all(drivers.map(async (driver) => ({ driver, probe: await probeOf(driver, engine.log) })))
  const available = new Map<string, Driver>()
  const closing = new AbortController()
  let manager: AsyncDisposable | null = null
  const starting = probing.then((probed) => {
    for (const { driver, probe } of probed) {
      if (probe.available) available.set(driver.name, driver)
      engine.log.debug(
        { driver: driver.name, available: probe.available, reason: probe.reason },
        'a driver of cloud computers was tried',
      )
    }
    if (closing.signal.aborted) return
    manager = reconcileComputers({ engine, leases, hostId: host.id, drivers: available })
  })
  stack.defer(async () => {
    closing.abort()
    await starting
    await manager?.[Symbol.asyncDispose]()
  })
  const resources = stack.move()
  return {
    hostId: host.id,
    probes: () => probing,
    room: () => roomIn(host.folder),
    async driver(name) {
      await probing
      return available.get(name) ?? null
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

async function probeOf(driver: Driver, log: Engine['log']): Promise<Probe> {
  try {
    return await driver.probe()
  } catch (error) {
    log.error({ error, driver: driver.name }, 'a driver of cloud computers could not be tried')
    const reason =
      error instanceof DriverFault ? error.message : 'The driver couldn’t be tested. The server log has the details.'
    return { available: false, reason, images: [], network: [], limitsEnforced: false, diskLimitsEnforced: false }
  }
}

const OFF: Cloud & AsyncDisposable = {
  hostId: '',
  probes: async () => [],
  room: async () => 0,
  driver: async () => null,
  async [Symbol.asyncDispose]() {},
}
