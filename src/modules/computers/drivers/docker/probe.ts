/** Verifies an engine's isolation before it creates any computer. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Network } from '../driver.ts'
import { type Host, makeFolderFor, writeFileFor } from '../host.ts'
import { INSIDE, identity, nameserversOfHost } from '../inside/identity.ts'
import { addressesOfHost } from '../inside/shut.ts'
import type { ContainerEngine, EngineInfo } from './api.ts'
import { runContainer } from './attached.ts'
import { type Account, type DaemonSpec, daemonSpec } from './spec.ts'
import { placeProfile } from './profile.ts'
import { toolOf } from './tools.ts'

/** Empty, because Ukiyo's programs bring their dependencies. */
export const EMPTY = 'localhost/ukiyo-empty:1'

export async function ensureEmpty(engine: ContainerEngine): Promise<void> {
  if (await engine.hasImage(EMPTY)) return
  const { pack } = await import('tar-stream')
  const tar = pack()
  tar.entry({ name: 'README' }, 'Ukiyo runs its own programs in this image.\n')
  tar.finalize()
  await engine.importImage(EMPTY, Readable.from(tar))
}

interface ProbeParts extends Pick<DaemonSpec, 'ulimits' | 'version'> {
  engine: ContainerEngine
  host: Host
  program: string
  tools: string
}

type Probed =
  | { accounts: null; reason: string }
  | {
      accounts: (number: bigint) => Account
      seccomp: string | null
      reason: string | null
      network: Network[]
      limitsEnforced: boolean
    }

export async function probeEngine(parts: ProbeParts): Promise<Probed> {
  const { engine, host } = parts
  const info = await engine.info()
  const no = (reason: string): Probed => ({ accounts: null, reason })
  if (info.OSType !== 'linux') return no('The container engine doesn’t run Linux containers.')
  const features = info.SecurityOptions ?? []
  if (!features.some((one) => one.startsWith('name=seccomp')) || features.includes('name=seccomp,profile=unconfined'))
    return no('The container engine doesn’t filter system calls (seccomp).')
  const rootless = features.some((one) => one.startsWith('name=rootless'))
  if (rootless && host.accountOf(0n) !== null)
    return no('The container engine is rootless, but the server runs as root. Run both as the same user.')
  const podman = await engine.podman()
  const accounts = accountsOf(host, rootless ? (podman ? 'podman' : 'docker') : null)
  const seccomp = podman && placeProfile(host.folder, podman.seccompProfile)
  await ensureEmpty(engine)
  const closed = await runProbe({ ...parts, seccomp }, accounts(0n), 'none', CLOSED).catch(
    (error: Error) => error.message,
  )
  if (closed !== 'closed') return no(`The container isn’t isolated as required: ${closed}`)
  const limitsEnforced = info.MemoryLimit && info.PidsLimit && info.CpuCfsQuota
  const online = await runProbe({ ...parts, seccomp }, accounts(0n), 'internet', SHUT).catch(
    (error: Error) => error.message,
  )
  const reasons = [
    ...(online === 'shut' ? [] : [`No internet: ${online}`]),
    ...(online === 'shut' && nameserversOfHost().length === 0
      ? ['The host has no name server that containers can reach.']
      : []),
    ...(limitsEnforced ? [] : [`limits: unenforced: the container engine can’t limit ${lacking(info)} here.`]),
  ]
  return {
    accounts,
    seccomp,
    reason: reasons.join(' ') || null,
    network: online === 'shut' ? ['none', 'internet'] : ['none'],
    limitsEnforced,
  }
}

const lacking = (info: EngineInfo): string =>
  [!info.MemoryLimit && 'memory', !info.PidsLimit && 'processes', !info.CpuCfsQuota && 'CPU'].filter(Boolean).join(', ')

function accountsOf(host: Host, rootless: 'podman' | 'docker' | null): (number: bigint) => Account {
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  // The engine's root is its user. Podman can keep that ID.
  if (rootless === 'docker') return () => ({ uid: 0, gid: 0, mode: null })
  return (number) => ({ ...(host.accountOf(number) ?? own), mode: rootless === 'podman' ? 'keep-id' : null })
}

/** Returns what the script wrote to its home. */
async function runProbe(
  parts: ProbeParts & Pick<DaemonSpec, 'seccomp'>,
  account: Account,
  network: Network,
  script: string,
): Promise<string> {
  const { engine, host, program, tools, ulimits, seccomp, version } = parts
  const id = `probe-${randomUUID()}`
  const folder = join(host.folder, id)
  const at = (name: string): string => join(folder, name)
  const owner = host.accountOf(0n)
  mkdirSync(folder, { mode: 0o711 })
  try {
    for (const name of ['home', 'state', 'etc']) makeFolderFor(at(name), owner)
    const { passwd, group } = identity('probe', [], { ...account, shell: '/bin/sh' })
    for (const [name, text] of Object.entries({ passwd: passwd!, group: group! }))
      await writeFileFor(join(at('etc'), name), text, owner)
    writeFileSync(join(host.sockets, 'seen'), '', { flag: 'a' })
    const spec = daemonSpec({
      box: { ...BOX, id, network },
      places: { home: at('home'), state: at('state'), etc: at('etc'), sockets: host.sockets, program, tools },
      account,
      nameservers: network === 'internet' ? nameserversOfHost() : [],
      shut: addressesOfHost(),
      labels: { 'ukiyo.host': host.id, 'ukiyo.role': 'probe' },
      ulimits,
      seccomp,
      version,
      script,
    })
    await runContainer(engine, `ukiyo-${id}`, spec)
    return readFileSync(join(at('home'), 'said'), 'utf8').trim()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const BOX = { number: 0n, name: 'probe', image: EMPTY, cpu: 1, memoryMb: 128, processes: 64, diskMb: null } as const
const TOOLS = '/opt/ukiyo-tools'

/** Uses only shell built-ins. */
const CLOSED = `said() { echo "$1" > ${INSIDE.home}/said; exit 0; }
while read -r name value; do
  case $name in
    CapEff:|CapBnd:|CapPrm:) [ "$value" = 0000000000000000 ] || said "$name $value" ;;
    NoNewPrivs:) [ "$value" = 1 ] || said "$name $value" ;;
    Seccomp:) [ "$value" = 2 ] || said "$name $value" ;;
  esac
done < /proc/self/status
[ -e ${INSIDE.sockets}/seen ] || said 'it does not see a folder of this host'
(: > /written) 2>/dev/null && said 'it writes to its image'
(: > ${INSIDE.program}/written) 2>/dev/null && said 'it writes to the host'
${toolOf(TOOLS, 'unshare')} -U ${toolOf(TOOLS, 'sh')} -c : 2>/dev/null && said 'it makes namespaces of its own'
said closed`

/** CAP_NET_ADMIN must be dropped. The rules were checked before. */
const SHUT = `said() { echo "$1" > ${INSIDE.home}/said; exit 0; }
while read -r name value; do
  case $name in CapEff:|CapBnd:|CapPrm:) [ "$value" = 0000000000000000 ] || said "$name $value" ;; esac
done < /proc/self/status
said shut`

/** The server's own limits. Rootless or containerized engines can't exceed them. */
export function limitsOfHost(): DaemonSpec['ulimits'] {
  const text = readFileSync('/proc/self/limits', 'utf8')
  const limitOf = (shape: RegExp): number => Number(shape.exec(text)?.[1] ?? Number.MAX_SAFE_INTEGER)
  const files = Math.min(limitOf(/^Max open files +\S+ +(\d+)/m), MAX_FILES)
  const processes = Math.min(limitOf(/^Max processes +\S+ +(\d+)/m), MAX_PROCESSES)
  return [
    { Name: 'nofile', Soft: files, Hard: files },
    { Name: 'nproc', Soft: processes, Hard: processes },
  ]
}
const MAX_FILES = 1_048_576
const MAX_PROCESSES = 32_768
