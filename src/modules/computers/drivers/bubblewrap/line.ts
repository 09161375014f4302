import { lstatSync, readlinkSync } from 'node:fs'
import { INSIDE } from '../inside/identity.ts'
import { PROGRAM } from '../inside/program.ts'

/** Files of the host that programs need and that reveal nothing. */
const CONFIGURATION = [
  'alternatives',
  'bash.bashrc',
  'ca-certificates',
  'ca-certificates.conf',
  'debian_version',
  'inputrc',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'mime.types',
  'nsswitch.conf',
  'os-release',
  'pki',
  'profile',
  'profile.d',
  'protocols',
  'services',
  'ssl',
  'terminfo',
]

/** Root would keep its capabilities, so they are dropped. */
const CLOSED = [
  '--unshare-all',
  '--unshare-user',
  '--disable-userns',
  '--die-with-parent',
  '--new-session',
  '--cap-drop',
  'ALL',
  '--clearenv',
]

function system(): string[] {
  const words = ['--ro-bind', '/usr', '/usr']
  for (const name of ['bin', 'sbin', 'lib', 'lib32', 'lib64']) {
    try {
      if (lstatSync(`/${name}`).isSymbolicLink()) words.push('--symlink', readlinkSync(`/${name}`), `/${name}`)
      else words.push('--ro-bind', `/${name}`, `/${name}`)
    } catch {}
  }
  for (const name of CONFIGURATION) words.push('--ro-bind-try', `/etc/${name}`, `/etc/${name}`)
  return words
}

const bwrap = (filter: string): string[] => [
  'sh',
  '-c',
  'exec "$@" 8<"$0"',
  filter,
  'bwrap',
  '--seccomp',
  '8',
  ...CLOSED,
]

export interface DaemonParts {
  filter: string
  hostname: string
  home: string
  state: string
  etc: string
  sockets: string
  program: string
  /** Keeps the parent's network namespace, created for this sandbox. */
  network: boolean
  processes: number | null
  diskMb: number | null
  version: string
}

/** Size of `/tmp` and `/dev/shm`, in otherwise unlimited host memory. */
const SCRATCH_BYTES = 536_870_912

export function daemonLine(parts: DaemonParts): string[] {
  const { filter, hostname, home, state, etc, sockets, program, network, processes, diskMb, version } = parts
  const limit = [
    'prlimit',
    '--core=0:0',
    ...(processes === null ? [] : [`--nproc=${processes}:${processes}`]),
    // Limits each file to the total, even without quotas.
    ...(diskMb === null ? [] : [`--fsize=${diskMb * 1_048_576}:${diskMb * 1_048_576}`]),
    '--',
  ]
  return [
    ...bwrap(filter),
    ...(network ? ['--share-net'] : []),
    ...environment({
      HOME: INSIDE.home,
      USER: 'user',
      LOGNAME: 'user',
      SHELL: '/bin/bash',
      LANG: 'C.UTF-8',
      UK_VERSION: version,
    }),
    ...system(),
    ...['passwd', 'group', 'hosts', 'resolv.conf'].flatMap((name) => ['--ro-bind', `${etc}/${name}`, `/etc/${name}`]),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--size',
    String(SCRATCH_BYTES),
    '--tmpfs',
    '/tmp',
    '--dir',
    '/var/tmp',
    '--bind',
    home,
    INSIDE.home,
    '--bind',
    state,
    INSIDE.state,
    '--ro-bind',
    sockets,
    INSIDE.sockets,
    '--ro-bind',
    program,
    INSIDE.program,
    '--remount-ro',
    '/',
    '--uid',
    '1000',
    '--gid',
    '1000',
    '--hostname',
    hostname,
    '--chdir',
    INSIDE.home,
    '--',
    ...limit,
    `${INSIDE.program}/${PROGRAM.node}`,
    '--disable-warning=ExperimentalWarning',
    `${INSIDE.program}/${PROGRAM.daemon}`,
    INSIDE.state,
    INSIDE.sockets,
    `${INSIDE.program}/${PROGRAM.addon}`,
  ]
}

/** The program bypasses file modes but sees only this folder. */
export const toolLine = (filter: string, folder: string, argv: readonly string[], writes: boolean): string[] => [
  ...bwrap(filter),
  '--cap-add',
  'CAP_DAC_OVERRIDE',
  '--cap-add',
  'CAP_FOWNER',
  ...environment({ LC_ALL: 'C' }),
  ...system(),
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  writes ? '--bind' : '--ro-bind',
  folder,
  INSIDE.home,
  '--remount-ro',
  '/',
  '--uid',
  '0',
  '--gid',
  '0',
  '--chdir',
  INSIDE.home,
  '--',
  ...argv,
]

const environment = (variables: Record<string, string>): string[] =>
  Object.entries({ PATH: '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin', ...variables }).flatMap(
    ([name, value]) => ['--setenv', name, value],
  )

/** Runs a command line as another account: the server may be root, sandboxes never are. */
export const asAccount = (account: { uid: number; gid: number } | null, line: readonly string[]): string[] =>
  account === null
    ? [...line]
    : ['setpriv', `--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups', '--', ...line]
