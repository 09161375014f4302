import { type SpawnOptions, spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Box, type Driver, DriverFault, type Probe } from '../driver.ts'
import { type Host, PACKING, makePlace, placeOn, writeFileFor } from '../host.ts'
import { openControlGroups } from '../limits/control-groups.ts'
import { type DiskQuota, openDiskQuota } from '../limits/disk-quota.ts'
import { totalOf } from '../limits/disk-watch.ts'
import type { ControlGroups } from '../limits/groups.ts'
import { LONGEST_MS, whileRoom } from '../limits/room.ts'
import { endAll, processesOf, signal, supervise, supervisorOf, tail } from '../processes.ts'
import { HOST_ENV, run } from '../run.ts'
import { hostnameOf, identity, nameserversOfHost } from '../inside/identity.ts'
import type { Id } from '#core/ids.ts'
import { asAccount, daemonLine, toolLine } from './line.ts'
import { probeHost, reasonOf } from './probe.ts'
import { withinNetwork } from './network.ts'
import { placeFilter } from '../inside/seccomp.ts'
import { feed } from '../unpacking/feed.ts'

/** The account inside the sandbox. */
const USER = { uid: 1000, gid: 1000, shell: '/bin/bash' }

export interface BubblewrapParts {
  host: Host
  /** Returns the folder of the daemon's program. */
  program: () => Promise<string>
  version: string
}

/** Sandboxes made of kernel namespaces, without root: `bwrap`, and `pasta` for internet access. */
export const bubblewrap = (parts: BubblewrapParts): Driver => new Bubblewrap(parts)

type BoxKey = Pick<Box, 'id' | 'number'>

class Bubblewrap implements Driver {
  readonly name = 'bubblewrap'
  readonly #parts: BubblewrapParts
  #filter = ''
  #groups: ControlGroups | null = null
  #quota: DiskQuota | null = null

  constructor(parts: BubblewrapParts) {
    this.#parts = parts
  }

  async probe(): Promise<Probe> {
    const { host } = this.#parts
    this.#filter = placeFilter(host.folder)
    const probe = await probeHost(host, this.#filter)
    this.#groups = probe.available ? openControlGroups() : null
    this.#quota = probe.available ? await openDiskQuota(host) : null
    return {
      ...probe,
      limitsEnforced: this.#groups !== null,
      diskLimitsEnforced: this.#quota !== null,
      reason: reasonOf(probe, this.#groups !== null),
    }
  }

  async create(box: Box): Promise<void> {
    await makePlace(this.#placeOf(box), () => this.destroy(box))
    await this.#quota?.set(box.number, box.diskMb)
  }

  async start(box: Box, state: string): Promise<void> {
    const place = this.#placeOf(box)
    // A sandbox that was never started has no lock and no processes.
    if (existsSync(place.lock)) await endAll(place.pidFile, place.folder)
    const hostname = hostnameOf(box.name)
    const nameservers = box.network === 'internet' ? nameserversOfHost() : []
    for (const [name, text] of Object.entries(identity(hostname, nameservers, USER)))
      await writeFileFor(join(place.etc, name), text, place.account)
    await writeFileFor(join(place.state, 'computer.json'), state, place.account).catch(
      (error: NodeJS.ErrnoException) => {
        throw new DriverFault(`The old state can’t be removed: ${error.code}.`)
      },
    )
    const line = daemonLine({
      filter: this.#filter,
      hostname,
      home: place.home,
      state: place.state,
      etc: place.etc,
      sockets: this.#parts.host.sockets,
      program: await this.#parts.program(),
      network: box.network === 'internet',
      processes: box.processes,
      diskMb: box.diskMb,
      version: this.#parts.version,
    })
    await supervise({
      lock: place.lock,
      pidFile: place.pidFile,
      log: place.log,
      cgroups: this.#groups?.make(box) ?? [],
      line: asAccount(place.account, box.network === 'internet' ? withinNetwork(nameservers, line) : line),
    })
  }

  async stop(box: BoxKey): Promise<void> {
    const { pidFile, folder } = this.#placeOf(box)
    await endAll(pidFile, folder)
    this.#groups?.remove(box.id)
  }

  async found(): Promise<Id[]> {
    const { folder } = this.#parts.host
    return readdirSync(folder).filter((id) => supervisorOf(join(folder, id, 'pid')) !== null)
  }

  async lives(box: Box): Promise<boolean> {
    return supervisorOf(this.#placeOf(box).pidFile) !== null
  }

  async adopt(box: Box): Promise<void> {
    const { pidFile, folder } = this.#placeOf(box)
    for (const pid of processesOf(pidFile, folder)) signal(pid, 'SIGCONT')
  }

  async used(box: Box): Promise<number | null> {
    const { home, state } = this.#placeOf(box)
    let bytes = 0
    for (const folder of [home, state]) {
      const total = totalOf(await run(this.#toolLine(box, DISK_USED, false, folder), { timeoutMs: 60_000 }))
      if (total === null) return null
      bytes += total
    }
    return bytes
  }

  async lastWords(box: Box): Promise<string> {
    return tail(this.#placeOf(box).log)
  }

  async pack(box: Box, into: Writable): Promise<{ entries: number }> {
    const { pidFile, folder } = this.#placeOf(box)
    try {
      await holdStill(() => processesOf(pidFile, folder))
      // Sockets can't be packed and mean nothing without their program.
      const count = await run(this.#toolLine(box, ['find', '.', '!', '-type', 's', '-printf', 'x'], false), {
        timeoutMs: 600_000,
      })
      if (count.code !== 0) throw new DriverFault(`The home can’t be read: ${count.stderr.slice(-300)}`)
      await through(this.#toolLine(box, ['tar', ...PACKING], false), null, into)
      return { entries: count.bytes }
    } finally {
      for (const pid of processesOf(pidFile, folder)) signal(pid, 'SIGCONT')
    }
  }

  unpack(box: Box, from: Readable): Promise<void> {
    return through(
      this.#toolLine(box, ['tar', '--no-same-owner', '--same-permissions', '-xf', '-'], true),
      Readable.from(whileRoom(from, this.#placeOf(box).folder), { objectMode: false }),
      null,
    )
  }

  async destroy(box: BoxKey): Promise<void> {
    const { pidFile, folder, home, state } = this.#placeOf(box)
    await this.stop(box)
    // The tools run as the owner, who may have closed folders to everyone else.
    for (const each of [home, state].filter(existsSync))
      await run(this.#toolLine(box, ['find', '.', '-mindepth', '1', '-delete'], true, each), { timeoutMs: 600_000 })
    await rm(folder, { recursive: true, force: true })
    await this.#quota?.set(box.number, null)
    await endAll(pidFile, folder)
  }

  #placeOf(box: BoxKey) {
    const place = placeOn(this.#parts.host, box)
    const at = (name: string): string => join(place.folder, name)
    return { ...place, lock: at('lock'), pidFile: at('pid'), log: at('log') }
  }

  #toolLine(box: BoxKey, argv: readonly string[], writes: boolean, folder = this.#placeOf(box).home): string[] {
    return asAccount(this.#placeOf(box).account, toolLine(this.#filter, folder, argv, writes))
  }
}

/** Prints the size of a home in bytes on the first line. Small files count with the blocks that they take. */
const DISK_USED = ['du', '-s', '-B1', '-x', '.']

/** Stops every process, until no new one appears between two looks. */
async function holdStill(list: () => number[]): Promise<void> {
  const stopped = new Set<number>()
  for (let round = 0; round < 100; round++) {
    const fresh = list().filter((pid) => !stopped.has(pid))
    if (fresh.length === 0) return
    for (const pid of fresh) {
      stopped.add(pid)
      signal(pid, 'SIGSTOP')
    }
    await sleep(1)
  }
}

/** Runs a tool and streams its input or output. */
async function through(argv: readonly string[], from: Readable | null, into: Writable | null): Promise<void> {
  const [file = '', ...args] = argv
  const options: SpawnOptions = {
    env: HOST_ENV,
    stdio: [from ? 'pipe' : 'ignore', into ? 'pipe' : 'ignore', 'pipe'],
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
  }
  const child = spawn(file, args, options)
  let words = ''
  child.stderr!.setEncoding('utf8').on('data', (part: string) => (words = (words + part).slice(-500)))
  const ended = new Promise<number | null>((resolve, reject) => child.once('close', resolve).once('error', reject))
  try {
    await Promise.all([
      ...(from ? [feed(from, child.stdin!)] : []),
      ...(into ? [pipeline(child.stdout!, into)] : []),
      ended.then((code) => {
        if (code !== 0)
          throw new DriverFault(
            `Packing failed with ${code ?? 'no exit code: it took longer than 30 minutes'}: ${words.trim()}`,
          )
      }),
    ])
  } finally {
    child.kill('SIGKILL')
    from?.destroy()
    await ended.catch(() => {})
  }
}
