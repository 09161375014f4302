import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import type { Id } from '#core/ids.ts'
import type { Box, Driver } from '../driver.ts'
import { type Host, PACKING, makePlace, placeOn, writeFileFor } from '../host.ts'
import { type DiskQuota, openDiskQuota } from '../limits/disk-quota.ts'
import { totalOf } from '../limits/disk-watch.ts'
import { LONGEST_MS, whileRoom } from '../limits/room.ts'
import { run } from '../run.ts'
import { hostnameOf, identity, nameserversOfHost } from '../inside/identity.ts'
import { PROGRAM } from '../inside/program.ts'
import { addressesOfHost } from '../inside/shut.ts'
import { type ContainerEngine, containerEngine } from './api.ts'
import { type Through, runContainer } from './attached.ts'
import { EMPTY, ensureEmpty, limitsOfHost, probeEngine } from './probe.ts'
import { type Account, type ToolSpec, daemonSpec, toolSpec } from './spec.ts'
import { placeTools } from './tools.ts'

export interface DockerParts {
  host: Host
  /** The folder of the program that runs inside. */
  program: () => Promise<string>
  version: string
  /** The socket of the engine; null: where Docker and Podman usually listen. */
  socket: string | null
  /** The images that computers may be made of. */
  images: readonly string[]
}

/** Containers of Docker or Podman, on this host. */
export function docker({ host, program, version, socket, images }: DockerParts): Driver {
  let engine: ContainerEngine
  let accounts: (number: bigint) => Account
  let tools: string
  let seccomp: string | null
  let quota: DiskQuota | null = null
  const ulimits = limitsOfHost()

  const placeOf = (box: Which) => placeOn(host, box)
  const nameOf = (id: string): string => `ukiyo-${id.toLowerCase()}`
  const labelsOf = (id: string, role: 'daemon' | 'tool') => ({
    'ukiyo.host': host.id,
    'ukiyo.computer': id,
    'ukiyo.role': role,
  })
  type Tool = Pick<ToolSpec, 'tool' | 'argv' | 'as' | 'writes'>
  async function tool(box: Which, asked: Tool, through?: Through): Promise<string> {
    await ensureEmpty(engine)
    const common = { image: EMPTY, account: accounts(box.number), labels: labelsOf(box.id, 'tool'), ulimits, seccomp }
    const spec = toolSpec({ ...asked, ...common, home: placeOf(box).home, tools })
    return runContainer(engine, `${nameOf(box.id)}-${asked.tool}`, spec, { ...through, timeoutMs: LONGEST_MS })
  }
  /** Removes the tools that a killed process of the server began. */
  async function removeTools(id: string): Promise<void> {
    const left = await engine.list([`ukiyo.host=${host.id}`, `ukiyo.computer=${id}`, 'ukiyo.role=tool'])
    for (const { Id } of left) await engine.remove(Id)
  }

  const driver: Driver = {
    name: 'docker',

    async probe() {
      const path = socket ?? USUAL.find((each) => existsSync(each))
      const nothing = { images: [], network: [], limitsEnforced: false, diskLimitsEnforced: false }
      if (path === undefined)
        return { available: false, reason: `No container engine was found at ${USUAL.join(' or ')}.`, ...nothing }
      engine = containerEngine(path)
      const folder = await program()
      tools = await placeTools(join(host.folder, 'tools'), [join(folder, PROGRAM.node), join(folder, PROGRAM.addon)])
      const found = await probeEngine({ engine, host, program: folder, tools, ulimits, version })
      if (found.accounts === null) return { available: false, reason: found.reason, ...nothing }
      ;({ accounts, seccomp } = found)
      const { reason, network, limitsEnforced } = found
      quota = await openDiskQuota(host)
      const diskLimitsEnforced = quota !== null
      return { available: true, reason, network, limitsEnforced, diskLimitsEnforced, images: [...images] }
    },

    async create(box) {
      await makePlace(placeOf(box), () => driver.destroy(box))
      await quota?.set(box.number, box.diskMb)
    },

    async start(box, state) {
      await driver.stop(box)
      const place = placeOf(box)
      const account = accounts(box.number)
      const nameservers = box.network === 'internet' ? nameserversOfHost() : []
      const { passwd, group } = identity(hostnameOf(box.name), [], { ...account, shell: '/bin/sh' })
      for (const [name, text] of Object.entries({ passwd: passwd!, group: group! }))
        await writeFileFor(join(place.etc, name), text, place.account)
      await writeFileFor(join(place.state, 'computer.json'), state, place.account)
      if (!(await engine.hasImage(box.image))) await engine.pull(box.image)
      const places = { ...place, sockets: host.sockets, program: await program(), tools }
      const labels = labelsOf(box.id, 'daemon')
      const spec = daemonSpec({
        box,
        places,
        account,
        nameservers,
        shut: addressesOfHost(),
        labels,
        ulimits,
        seccomp,
        version,
      })
      await engine.create(nameOf(box.id), spec)
      await engine.start(nameOf(box.id))
    },

    async stop({ id }) {
      await engine.remove(nameOf(id))
      await removeTools(id)
    },

    async found() {
      const all = await engine.list([`ukiyo.host=${host.id}`, 'ukiyo.role=daemon'])
      return all.map(({ Labels }) => Labels['ukiyo.computer'] as Id)
    },

    async lives({ id }) {
      const found = await engine.inspect(nameOf(id))
      return found !== null && (found.State.Running || found.State.Paused)
    },

    async adopt({ id }) {
      await removeTools(id)
      const found = await engine.inspect(nameOf(id))
      if (found?.State.Paused) await engine.unpause(nameOf(id))
    },

    async used(box) {
      const { home, state } = placeOf(box)
      return totalOf(await run(['du', '-s', '-c', '-B1', '-x', home, state], { timeoutMs: 60_000 }))
    },

    lastWords: ({ id }) => engine.logs(nameOf(id)).catch(() => ''),

    async pack(box, into) {
      const found = await engine.inspect(nameOf(box.id))
      const held = found !== null && (found.State.Running || found.State.Paused)
      try {
        // A process of the server that was killed before it could pack may have paused it.
        if (held && !found.State.Paused) await engine.pause(nameOf(box.id))
        const look = { as: 'root', writes: false } as const
        // Sockets can't be packed, and mean nothing without the program behind them.
        let entries = 0
        const counting = new Writable({ write: (part: Buffer, _, done) => done(void (entries += part.length)) })
        await tool(box, { ...look, tool: 'find', argv: ['.', '!', '-type', 's', '-printf', 'x'] }, { into: counting })
        await tool(
          box,
          {
            ...look,
            tool: 'tar',
            argv: PACKING,
          },
          { into },
        )
        return { entries }
      } finally {
        if (held) await engine.unpause(nameOf(box.id))
      }
    },

    async unpack(box, from) {
      const argv = ['--no-same-owner', '--same-permissions', '-xf', '-']
      const bounded = Readable.from(whileRoom(from, placeOf(box).folder), { objectMode: false })
      await tool(box, { tool: 'tar', argv, as: 'owner', writes: true }, { from: bounded })
    },

    async destroy(box) {
      const { folder, home } = placeOf(box)
      await driver.stop(box)
      // The tool is root inside of the home alone: its owner may have shut folders against everybody.
      if (existsSync(home))
        await tool(box, { tool: 'find', argv: ['.', '-mindepth', '1', '-delete'], as: 'root', writes: true })
      await rm(folder, { recursive: true, force: true })
      await quota?.set(box.number, null)
    },
  }
  return driver
}

type Which = Pick<Box, 'id' | 'number'>
/** The usual sockets: Docker's, and Podman's for root. */
const USUAL = ['/var/run/docker.sock', '/run/podman/podman.sock']
