/** Container specs in the Docker API's format. Pure. */
import type { Box } from '../driver.ts'
import { INSIDE, hostnameOf } from '../inside/identity.ts'
import { PROGRAM } from '../inside/program.ts'
import { checkScript, shutScript } from '../inside/shut.ts'
import { toolOf } from './tools.ts'

export interface Spec {
  Image: string
  User: string
  Entrypoint: string[]
  Cmd: string[]
  Env: string[]
  WorkingDir: string
  Hostname?: string
  Labels: Record<string, string>
  Healthcheck: { Test: string[] }
  OpenStdin?: boolean
  StdinOnce?: boolean
  HostConfig: {
    Binds: string[]
    NetworkMode: string
    Dns?: string[]
    Memory: number
    MemorySwap: number
    NanoCpus: number
    PidsLimit: number
    CapDrop: string[]
    CapAdd: string[]
    SecurityOpt: string[]
    ReadonlyRootfs: boolean
    Tmpfs: Record<string, string>
    Ulimits: { Name: string; Soft: number; Hard: number }[]
    LogConfig: { Type: string; Config: Record<string, string> }
    UsernsMode?: string
    Init: boolean
  }
}

/** `mode`: the Docker API's `UsernsMode`. */
export interface Account {
  uid: number
  gid: number
  mode: string | null
}

export interface Places {
  home: string
  state: string
  etc: string
  sockets: string
  program: string
  tools: string
}

interface Common {
  labels: Record<string, string>
  account: Account
  seccomp: string | null
  ulimits: Spec['HostConfig']['Ulimits']
}

export interface DaemonSpec extends Common {
  box: Box
  places: Places
  nameservers: readonly string[]
  /** Addresses blocked despite internet access. */
  shut: readonly string[]
  version: string
  /** Replaces the daemon in probes. */
  script?: string
}

const SCRATCH_BYTES = 536_870_912
const TOOLS = '/opt/ukiyo-tools'

/** The init process: reaps orphans and exits with the daemon. */
const DAEMON = `SHELL=/bin/sh; [ -x /bin/bash ] && SHELL=/bin/bash; export SHELL
${toolOf(TOOLS, 'node', INSIDE.program)} --disable-warning=ExperimentalWarning ${INSIDE.program}/${PROGRAM.daemon} ${INSIDE.state} ${INSIDE.sockets} ${INSIDE.program}/${PROGRAM.addon} &
wait $!`

/** With internet access, the container starts as root, blocks private networks, then drops the capability. */
export function daemonSpec(parts: DaemonSpec): Spec {
  const { box, places, account, nameservers, shut, labels, ulimits, seccomp, version, script = DAEMON } = parts
  const { home, state, etc, sockets, program, tools } = places
  const sh = toolOf(TOOLS, 'sh')
  const online = box.network === 'internet'
  const fileLimit = box.diskMb === null ? null : box.diskMb * 1_048_576
  const drop = `exec ${toolOf(TOOLS, 'setpriv')} --reuid=${account.uid} --regid=${account.gid} --clear-groups --bounding-set=-all --inh-caps=-all -- ${sh} -c "$1"`
  const ip = toolOf(TOOLS, 'ip')
  const words = online
    ? [`set -e\n${shutScript(nameservers, ip, shut)}${checkScript(ip)}${drop}`, 'sh', script]
    : [script]
  const spec = isolatedSpec({
    image: box.image,
    user: online ? '0:0' : `${account.uid}:${account.gid}`,
    argv: [...sh.split(' '), '-c', ...words],
    env: { HOME: INSIDE.home, USER: 'user', LOGNAME: 'user', LANG: 'C.UTF-8', UK_VERSION: version },
    caps: online ? ['NET_ADMIN', 'SETUID', 'SETGID', 'SETPCAP'] : [],
    binds: [
      `${home}:${INSIDE.home}`,
      `${state}:${INSIDE.state}`,
      `${sockets}:${INSIDE.sockets}:ro`,
      `${program}:${INSIDE.program}:ro`,
      `${tools}:${TOOLS}:ro`,
      ...['passwd', 'group'].map((name) => `${etc}/${name}:/etc/${name}:ro`),
    ],
    labels,
    // Each file may be as large as the total.
    ulimits: fileLimit === null ? ulimits : [...ulimits, { Name: 'fsize', Soft: fileLimit, Hard: fileLimit }],
    seccomp,
    mode: account.mode,
  })
  spec.Hostname = hostnameOf(box.name)
  const memory = box.memoryMb === null ? 0 : box.memoryMb * 1_048_576
  Object.assign(spec.HostConfig, {
    NetworkMode: online ? 'bridge' : 'none',
    ...(online && { Dns: [...nameservers] }),
    Memory: memory,
    // Equal to memory, which disables swap.
    MemorySwap: memory,
    NanoCpus: Math.round((box.cpu ?? 0) * 1e9),
    PidsLimit: box.processes ?? -1,
    LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
  })
  return spec
}

export interface ToolSpec extends Common {
  image: string
  home: string
  tools: string
  tool: string
  argv: readonly string[]
  /** Root bypasses file modes; the owner creates files with the right ownership. */
  as: 'root' | 'owner'
  writes: boolean
}

export const toolSpec = ({
  image,
  home,
  tools,
  tool,
  argv,
  as,
  writes,
  account,
  labels,
  ulimits,
  seccomp,
}: ToolSpec): Spec =>
  isolatedSpec({
    image,
    user: as === 'root' ? '0:0' : `${account.uid}:${account.gid}`,
    argv: [...toolOf(TOOLS, tool).split(' '), ...argv],
    env: { LC_ALL: 'C' },
    caps: as === 'root' ? ['DAC_OVERRIDE', 'FOWNER'] : [],
    binds: [`${home}:${INSIDE.home}${writes ? '' : ':ro'}`, `${tools}:${TOOLS}:ro`],
    labels,
    ulimits,
    seccomp,
    mode: account.mode,
  })

interface Closed {
  image: string
  user: string
  argv: string[]
  env: Record<string, string>
  caps: string[]
  binds: string[]
  labels: Record<string, string>
  ulimits: Spec['HostConfig']['Ulimits']
  seccomp: string | null
  mode: string | null
}

/** Restrictions of every container. Docker's own seccomp profile applies unless `seccomp` is set. */
const isolatedSpec = ({ image, user, argv, env, caps, binds, labels, ulimits, seccomp, mode }: Closed): Spec => ({
  Image: image,
  User: user,
  Entrypoint: argv,
  Cmd: [],
  Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
  WorkingDir: INSIDE.home,
  Labels: labels,
  Healthcheck: { Test: ['NONE'] },
  HostConfig: {
    Binds: binds,
    NetworkMode: 'none',
    Memory: 0,
    MemorySwap: 0,
    NanoCpus: 0,
    PidsLimit: 4_096,
    CapDrop: ['ALL'],
    CapAdd: caps,
    SecurityOpt: ['no-new-privileges', ...(seccomp === null ? [] : [`seccomp=${seccomp}`])],
    ReadonlyRootfs: true,
    Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,size=${SCRATCH_BYTES},mode=1777` },
    Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }, ...ulimits],
    LogConfig: { Type: 'none', Config: {} },
    ...(mode !== null && { UsernsMode: mode }),
    Init: false,
  },
})
