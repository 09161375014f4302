import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import type { Id } from '#core/ids.ts'
import type { Box, Driver, Probe } from '../driver.ts'
import { type Host, PACKING, type Place, makePlace, placeOn, writeFileFor } from '../host.ts'
import { type DiskQuota, openDiskQuota } from '../limits/disk-quota.ts'
import { totalOf } from '../limits/disk-watch.ts'
import { LONGEST_MS, whileRoom } from '../limits/room.ts'
import { run } from '../run.ts'
import { hostnameOf, identity, nameserversOfHost } from '../inside/identity.ts'
import { PROGRAM } from '../inside/program.ts'
import { addressesOfHost } from '../inside/shut.ts'
import { type ContainerEngine, type Inspected, containerEngine } from './api.ts'
import { type Through, runContainer } from './attached.ts'
import { EMPTY, ensureEmpty, limitsOfHost, probeEngine } from './probe.ts'
import { type Account, type ToolSpec, daemonSpec, toolSpec } from './spec.ts'
import { placeTools } from './tools.ts'

export interface DockerParts {
  host: Host
  /** Returns the folder of the daemon's program. */
  program: () => Promise<string>
  version: string
  /** The engine's socket. Null: the default sockets of Docker and Podman. */
  socket: string | null
  /** The images that computers may use. */
  images: readonly string[]
}

/** Containers of Docker or Podman on this host. */
export const docker = (parts: DockerParts): Driver => new Docker(parts)

type BoxKey = Pick<Box, 'id' | 'number'>
type Tool = Pick<ToolSpec, 'tool' | 'argv' | 'as' | 'writes'>

/** What the probe learned about the container engine. */
interface Setup {
  engine: ContainerEngine
  accounts: (number: bigint) => Account
  /** The folder of the tools. */
  tools: string
  seccomp: string | null
}

class Docker implements Driver {
  readonly name = 'docker'
  readonly #parts: DockerParts
  readonly #ulimits = limitsOfHost()
  #probed: Setup | null = null
  #quota: DiskQuota | null = null

  constructor(parts: DockerParts) {
    this.#parts = parts
  }

  async probe(): Promise<Probe> {
    const { host, program, version, socket, images } = this.#parts
    const path = socket ?? USUAL_SOCKETS.find((each) => existsSync(each))
    const nothing = { images: [], network: [], limitsEnforced: false, diskLimitsEnforced: false }
    if (path === undefined)
      return { available: false, reason: `No container engine was found at ${USUAL_SOCKETS.join(' or ')}.`, ...nothing }
    const engine = containerEngine(path)
    const folder = await program()
    const tools = await placeTools(join(host.folder, 'tools'), [
      join(folder, PROGRAM.node),
      join(folder, PROGRAM.addon),
    ])
    const probe = await probeEngine({ engine, host, program: folder, tools, ulimits: this.#ulimits, version })
    if (probe.accounts === null) return { available: false, reason: probe.reason, ...nothing }
    const { accounts, seccomp, reason, network, limitsEnforced } = probe
    this.#probed = { engine, accounts, tools, seccomp }
    this.#quota = await openDiskQuota(host)
    const diskLimitsEnforced = this.#quota !== null
    return { available: true, reason, network, limitsEnforced, diskLimitsEnforced, images: [...images] }
  }

  async create(box: Box): Promise<void> {
    await makePlace(this.#placeOf(box), () => this.destroy(box))
    await this.#quota?.set(box.number, box.diskMb)
  }

  async start(box: Box, state: string): Promise<void> {
    await this.stop(box)
    const { host, program, version } = this.#parts
    const { engine, tools, seccomp } = this.#setup
    const place = this.#placeOf(box)
    const account = this.#setup.accounts(box.number)
    const nameservers = box.network === 'internet' ? nameserversOfHost() : []
    const { passwd, group } = identity(hostnameOf(box.name), [], { ...account, shell: '/bin/sh' })
    for (const [name, text] of Object.entries({ passwd: passwd!, group: group! }))
      await writeFileFor(join(place.etc, name), text, place.account)
    await writeFileFor(join(place.state, 'computer.json'), state, place.account)
    if (!(await engine.hasImage(box.image))) await engine.pull(box.image)
    const spec = daemonSpec({
      box,
      places: { ...place, sockets: host.sockets, program: await program(), tools },
      account,
      nameservers,
      shut: addressesOfHost(),
      labels: this.#labelsOf(box.id, 'daemon'),
      ulimits: this.#ulimits,
      seccomp,
      version,
    })
    await engine.create(nameOf(box.id), spec)
    await engine.start(nameOf(box.id))
  }

  async stop({ id }: BoxKey): Promise<void> {
    await this.#setup.engine.remove(nameOf(id))
    await this.#removeTools(id)
  }

  async found(): Promise<Id[]> {
    const containers = await this.#setup.engine.list([`ukiyo.host=${this.#parts.host.id}`, 'ukiyo.role=daemon'])
    return containers.map(({ Labels }) => Labels['ukiyo.computer'] as Id)
  }

  async lives({ id }: Box): Promise<boolean> {
    return isAlive(await this.#setup.engine.inspect(nameOf(id)))
  }

  async adopt({ id }: Box): Promise<void> {
    await this.#removeTools(id)
    const container = await this.#setup.engine.inspect(nameOf(id))
    if (container?.State.Paused) await this.#setup.engine.unpause(nameOf(id))
  }

  async used(box: Box): Promise<number | null> {
    const { home, state } = this.#placeOf(box)
    return totalOf(await run(['du', '-s', '-c', '-B1', '-x', home, state], { timeoutMs: 60_000 }))
  }

  lastWords({ id }: Box): Promise<string> {
    return this.#setup.engine.logs(nameOf(id)).catch(() => '')
  }

  async pack(box: Box, into: Writable): Promise<{ entries: number }> {
    const { engine } = this.#setup
    const container = await engine.inspect(nameOf(box.id))
    try {
      // A server process that was killed before it packed may have left it paused.
      if (isAlive(container) && !container.State.Paused) await engine.pause(nameOf(box.id))
      const readOnly = { as: 'root', writes: false } as const
      // Sockets can't be packed and mean nothing without their program.
      let entries = 0
      const counter = new Writable({ write: (part: Buffer, _, done) => done(void (entries += part.length)) })
      const argv = ['.', '!', '-type', 's', '-printf', 'x']
      await this.#runTool(box, { ...readOnly, tool: 'find', argv }, { into: counter })
      await this.#runTool(box, { ...readOnly, tool: 'tar', argv: PACKING }, { into })
      return { entries }
    } finally {
      if (isAlive(container)) await engine.unpause(nameOf(box.id))
    }
  }

  async unpack(box: Box, from: Readable): Promise<void> {
    const argv = ['--no-same-owner', '--same-permissions', '-xf', '-']
    const bounded = Readable.from(whileRoom(from, this.#placeOf(box).folder), { objectMode: false })
    await this.#runTool(box, { tool: 'tar', argv, as: 'owner', writes: true }, { from: bounded })
  }

  async destroy(box: BoxKey): Promise<void> {
    const { folder, home } = this.#placeOf(box)
    await this.stop(box)
    // The tool is root, and only inside the home: its owner may have closed folders to everyone else.
    if (existsSync(home))
      await this.#runTool(box, { tool: 'find', argv: ['.', '-mindepth', '1', '-delete'], as: 'root', writes: true })
    await rm(folder, { recursive: true, force: true })
    await this.#quota?.set(box.number, null)
  }

  get #setup(): Setup {
    if (this.#probed === null) throw new Error('the driver was not probed')
    return this.#probed
  }

  #placeOf(box: BoxKey): Place {
    return placeOn(this.#parts.host, box)
  }

  #labelsOf(id: string, role: 'daemon' | 'tool') {
    return { 'ukiyo.host': this.#parts.host.id, 'ukiyo.computer': id, 'ukiyo.role': role }
  }

  async #runTool(box: BoxKey, tool: Tool, streams?: Through): Promise<string> {
    const { engine, accounts, tools, seccomp } = this.#setup
    await ensureEmpty(engine)
    const spec = toolSpec({
      ...tool,
      image: EMPTY,
      account: accounts(box.number),
      labels: this.#labelsOf(box.id, 'tool'),
      ulimits: this.#ulimits,
      seccomp,
      home: this.#placeOf(box).home,
      tools,
    })
    return runContainer(engine, `${nameOf(box.id)}-${tool.tool}`, spec, { ...streams, timeoutMs: LONGEST_MS })
  }

  /** Removes the tools of a killed server process. */
  async #removeTools(id: string): Promise<void> {
    const { engine } = this.#setup
    const tools = await engine.list([`ukiyo.host=${this.#parts.host.id}`, `ukiyo.computer=${id}`, 'ukiyo.role=tool'])
    for (const { Id } of tools) await engine.remove(Id)
  }
}

const nameOf = (id: string): string => `ukiyo-${id.toLowerCase()}`

const isAlive = (container: Inspected | null): container is Inspected =>
  container !== null && (container.State.Running || container.State.Paused)

/** The default sockets: Docker's, and Podman's for root. */
const USUAL_SOCKETS = ['/var/run/docker.sock', '/run/podman/podman.sock']
