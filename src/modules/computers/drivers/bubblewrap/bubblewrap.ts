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
import { checkScript } from '../inside/shut.ts'
import { daemonLine, toolLine } from './line.ts'
import { withinNetwork } from './network.ts'
import { placeFilter } from '../inside/seccomp.ts'
import { feed } from '../unpacking/feed.ts'
import { shorten } from '#core/text/shorten.ts'

/** The image is the host’s own system, read-only. */
const IMAGE = 'host'

/** The account inside the sandbox. */
const USER = { uid: 1000, gid: 1000, shell: '/bin/bash' }

export interface BubblewrapParts {
  host: Host
  /** The folder of the program that runs inside. */
  program: () => Promise<string>
  version: string
}

/** Sandboxes by namespaces of the kernel, without root's rights: `bwrap`, and for the internet `pasta`. */
export function bubblewrap({ host, program, version }: BubblewrapParts): Driver {
  let filter: string
  let groups: ControlGroups | null = null
  let quota: DiskQuota | null = null
  const placeOf = (box: Pick<Box, 'id' | 'number'>) => {
    const place = placeOn(host, box)
    const at = (name: string): string => join(place.folder, name)
    return { ...place, lock: at('lock'), pidFile: at('pid'), log: at('log') }
  }
  const tool = (
    box: Pick<Box, 'id' | 'number'>,
    argv: readonly string[],
    writes: boolean,
    folder = placeOf(box).home,
  ): string[] => as(placeOf(box).account, toolLine(filter, folder, argv, writes))

  const driver: Driver = {
    name: 'bubblewrap',

    async probe() {
      filter = placeFilter(host.folder)
      const probe = await probeHost(host, filter)
      groups = probe.available ? openControlGroups() : null
      quota = probe.available ? await openDiskQuota(host) : null
      const held = { limitsEnforced: groups !== null, diskLimitsEnforced: quota !== null }
      return { ...probe, ...held, reason: reasonOf(probe, groups !== null) }
    },

    async create(box) {
      await makePlace(placeOf(box), () => driver.destroy(box))
      await quota?.set(box.number, box.diskMb)
    },

    async start(box, state) {
      const place = placeOf(box)
      // A sandbox that was never started has no lock, and nothing that could run.
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
        filter,
        hostname,
        home: place.home,
        state: place.state,
        etc: place.etc,
        sockets: host.sockets,
        program: await program(),
        network: box.network === 'internet',
        processes: box.processes,
        diskMb: box.diskMb,
        version,
      })
      await supervise({
        lock: place.lock,
        pidFile: place.pidFile,
        log: place.log,
        cgroups: groups?.make(box) ?? [],
        line: as(place.account, box.network === 'internet' ? withinNetwork(nameservers, line) : line),
      })
    },

    async stop(box) {
      const { pidFile, folder } = placeOf(box)
      await endAll(pidFile, folder)
      groups?.remove(box.id)
    },

    found: async () => readdirSync(host.folder).filter((id) => supervisorOf(join(host.folder, id, 'pid')) !== null),

    lives: async (box) => supervisorOf(placeOf(box).pidFile) !== null,

    async adopt(box) {
      const { pidFile, folder } = placeOf(box)
      for (const pid of processesOf(pidFile, folder)) signal(pid, 'SIGCONT')
    },

    async used(box) {
      const { home, state } = placeOf(box)
      let bytes = 0
      for (const folder of [home, state]) {
        const total = totalOf(await run(tool(box, DISK_USED, false, folder), { timeoutMs: 60_000 }))
        if (total === null) return null
        bytes += total
      }
      return bytes
    },

    lastWords: async (box) => tail(placeOf(box).log),

    async pack(box, into) {
      const { pidFile, folder } = placeOf(box)
      try {
        await holdStill(() => processesOf(pidFile, folder))
        // Sockets can't be packed, and mean nothing without the program behind them.
        const counted = await run(tool(box, ['find', '.', '!', '-type', 's', '-printf', 'x'], false), {
          timeoutMs: 600_000,
        })
        if (counted.code !== 0) throw new DriverFault(`The home can’t be read: ${counted.stderr.slice(-300)}`)
        await through(tool(box, ['tar', ...PACKING], false), null, into)
        return { entries: counted.bytes }
      } finally {
        for (const pid of processesOf(pidFile, folder)) signal(pid, 'SIGCONT')
      }
    },

    unpack: (box, from) =>
      through(
        tool(box, ['tar', '--no-same-owner', '--same-permissions', '-xf', '-'], true),
        Readable.from(whileRoom(from, placeOf(box).folder), { objectMode: false }),
        null,
      ),

    async destroy(box) {
      const { pidFile, folder, home, state } = placeOf(box)
      await driver.stop(box)
      // The tools run as the owner, who may have shut folders against everybody.
      for (const each of [home, state].filter(existsSync))
        await run(tool(box, ['find', '.', '-mindepth', '1', '-delete'], true, each), { timeoutMs: 600_000 })
      await rm(folder, { recursive: true, force: true })
      await quota?.set(box.number, null)
      await endAll(pidFile, folder)
    },
  }
  return driver
}

/**
 * The words that print the size of a home in bytes, on the first line. Many small files count as the room that they
 * take.
 */
const DISK_USED = ['du', '-s', '-B1', '-x', '.']

/** A command line as another account: the server is root, and what runs for others never is. */
const as = (account: { uid: number; gid: number } | null, line: readonly string[]): string[] =>
  account === null
    ? [...line]
    : ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups', '--', ...line]

/** Stops every process, until none came between two looks. */
async function holdStill(list: () => number[]): Promise<void> {
  const held = new Set<number>()
  for (let round = 0; round < 100; round++) {
    const fresh = list().filter((pid) => !held.has(pid))
    if (fresh.length === 0) return
    for (const pid of fresh) {
      held.add(pid)
      signal(pid, 'SIGSTOP')
    }
    await sleep(1)
  }
}

/** The reader of a pipe has gone. */
/**
 * Runs a tool whose input or output is a stream, to the end of all of them.
 */
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

/** Tries everything that a sandbox must do here before anybody is given one. */
async function probeHost(host: Host, filter: string): Promise<Probe> {
  const none = (reason: string): Probe => ({ available: false, reason, images: [], network: [], ...UNHELD })
  if (process.platform !== 'linux') return none('bubblewrap sandboxes require Linux.')
  for (const name of ['bwrap', 'prlimit', 'flock', 'tar', 'setpriv']) {
    const { code } = await run([name, '--version'])
    if (code !== 0) return none(`The program \`${name}\` is missing. Install ${PACKAGES[name] ?? name}.`)
  }
  const account = host.accountOf(0n)
  const tried = await run(
    as(
      account,
      toolLine(filter, '/usr', ['sh', '-c', 'grep -c CapEff /proc/self/status; unshare -U true && echo nested'], false),
    ),
  )
  if (tried.code === null || !tried.stdout.startsWith('1')) return none(explain(tried.stderr))
  if (tried.stdout.includes('nested'))
    return none('bubblewrap is too old: sandboxes could create their own namespaces. Version 0.8 or newer is required.')
  const { reason, there } = await probeNetwork(account)
  return {
    available: true,
    reason,
    images: [IMAGE],
    network: there ? ['none', 'internet'] : ['none'],
    ...UNHELD,
  }
}

/** The limits before it was tried what the host holds sandboxes to. */
const UNHELD = { limitsEnforced: false, diskLimitsEnforced: false }

const PACKAGES: Record<string, string> = {
  bwrap: 'bubblewrap',
  prlimit: 'util-linux',
  flock: 'util-linux',
  setpriv: 'util-linux',
}

function explain(words: string): string {
  const said = shorten(words.trim().split('\n').at(-1) ?? '', 300)
  if (/uid map: Permission denied|RTM_NEWADDR|Creating new namespace failed|No permissions to create/i.test(said))
    return `The system doesn’t allow programs to create sandboxes (${said}). On Ubuntu, load the AppArmor profile \`bwrap-userns-restrict\`. Elsewhere, set the sysctl \`kernel.unprivileged_userns_clone\` to 1.`
  return `A sandbox couldn’t be created: ${said || 'bwrap gave no reason'}.`
}

/** Tells whether the internet can be had without private addresses: tried from inside, however a socket is bound. */
async function probeNetwork(
  account: ReturnType<Host['accountOf']>,
): Promise<{ there: boolean; reason: string | null }> {
  const no = (why: string) => ({ there: false, reason: `No internet: ${why}` })
  for (const name of ['pasta', 'ip']) {
    const { code } = await run([name, name === 'ip' ? '-V' : '--version'])
    if (code !== 0) return no(`the program \`${name}\` is missing. Install ${name === 'ip' ? 'iproute2' : 'passt'}.`)
  }
  if ((await run(as(account, ['sh', '-c', ': <>/dev/net/tun']))).code !== 0)
    return no('sandboxes can’t open /dev/net/tun. Set its mode to 0666, as udev does.')
  const nameservers = nameserversOfHost()
  const { code, stderr } = await run(as(account, withinNetwork(nameservers, ['sh', '-c', checkScript()])))
  if (code === 3) return no('a blocked private address could be reached.')
  if (code !== 0) return no(`${shorten(stderr.trim().split('\n').at(-1) ?? '', 200) || 'pasta did not start'}.`)
  return {
    there: true,
    reason: nameservers.length === 0 ? 'The host has no name server that sandboxes can reach.' : null,
  }
}

function reasonOf({ available, reason }: Probe, limited: boolean): string | null {
  if (!available) return reason
  const limits = limited
    ? null
    : 'limits: unenforced: this server can’t create control groups (it isn’t root, and none were delegated to it, as with systemd’s `Delegate=yes`). The number of processes is limited, but CPU and memory aren’t.'
  return [reason, limits].filter(Boolean).join(' ') || null
}
