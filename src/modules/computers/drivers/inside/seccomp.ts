/**
 * The system calls refused in a sandbox: from Docker's default profile, those that the kernel wouldn't refuse anyway or
 * only after running code with a history of vulnerabilities. https://docs.docker.com/engine/security/seccomp/
 */
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Line, SEEN, assemble } from './bpf.ts'

export type Arch = 'x64' | 'arm64'

/** Numbers on x64 (asm/unistd_64.h) and arm64 (asm-generic/unistd.h). Null: doesn't exist. */
const REFUSED: Record<string, readonly [number | null, number | null]> = {
  // Keyrings aren't namespaced.
  add_key: [248, 217],
  keyctl: [250, 219],
  request_key: [249, 218],
  // Code and work submitted to the kernel.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  userfaultfd: [323, 282],
  fanotify_init: [300, 262],
  lookup_dcookie: [212, 18],
  mount: [165, 40],
  umount2: [166, 39],
  move_mount: [429, 429],
  open_tree: [428, 428],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  pivot_root: [155, 41],
  chroot: [161, 51],
  setns: [308, 268],
  unshare: [272, 97],
  open_by_handle_at: [304, 265],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  acct: [163, 89],
  clock_adjtime: [305, 266],
  clock_settime: [227, 112],
  settimeofday: [164, 170],
  create_module: [174, null],
  delete_module: [176, 106],
  init_module: [175, 105],
  finit_module: [313, 273],
  get_kernel_syms: [177, null],
  query_module: [178, null],
  ioperm: [173, null],
  iopl: [172, null],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  nfsservctl: [180, 42],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  reboot: [169, 142],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  swapon: [167, 224],
  swapoff: [168, 225],
  _sysctl: [156, null],
  sysfs: [139, null],
  syslog: [103, 116],
  uselib: [134, null],
  ustat: [136, null],
  vhangup: [153, 58],
  mbind: [237, 235],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  set_mempolicy: [238, 237],
}

export const refusedCalls: readonly string[] = Object.keys(REFUSED)

const ARGUMENT_FILTERED = {
  clone: [56, 220],
  clone3: [435, 435],
  ioctl: [16, 29],
  personality: [135, 92],
  socket: [41, 198],
} as const

const ARCHES = { x64: 0xc000003e, arm64: 0xc00000b7 } as const
/** The bit in the numbers of x32 calls. */
const X32 = 0x40000000
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
export const NAMESPACES = 0x7e020000
/** TIOCSTI and TIOCLINUX, which inject input into a terminal. */
const INPUT_IOCTLS = [0x5412, 0x541c]
/** AF_ALG and AF_VSOCK. */
const REFUSED_FAMILIES = [38, 40]
/** PER_LINUX with or without UNAME26 and PER_LINUX32, and the query. */
const PERSONALITIES = [0, 0x8, 0x20000, 0x20008, 0xffffffff]

const ALLOW = 0x7fff0000
const KILL = 0x80000000
const refusal = (errno: number): number => 0x00050000 | errno
const EPERM = 1
/** Makes the C library fall back to `clone`, whose flags can be filtered. */
const ENOSYS = 38
const EAFNOSUPPORT = 97

export function seccompFilter(arch: Arch): Buffer {
  const column = arch === 'x64' ? 0 : 1
  const numbers = Object.values(REFUSED).flatMap((row) => row[column] ?? [])
  const number = (name: keyof typeof ARGUMENT_FILTERED): number => ARGUMENT_FILTERED[name][column]
  const on = (value: number, to: string): Line => ({ op: 'equal', value, to })
  return assemble([
    { op: 'load', offset: SEEN.arch },
    { op: 'equal', value: ARCHES[arch], to: null, otherwise: 'kill' },
    { op: 'load', offset: SEEN.number },
    ...(arch === 'x64' ? [{ op: 'atLeast', value: X32, to: 'refuse' } as const] : []),
    ...Object.keys(ARGUMENT_FILTERED).map((name) => on(number(name as keyof typeof ARGUMENT_FILTERED), name)),
    ...numbers.map((value) => on(value, 'refuse')),
    { op: 'return', value: ALLOW },
    { op: 'label', name: 'clone' },
    { op: 'load', offset: SEEN.argument(0) },
    { op: 'anyBit', value: NAMESPACES, to: 'refuse', otherwise: 'allow' },
    { op: 'label', name: 'ioctl' },
    { op: 'load', offset: SEEN.argument(1) },
    ...INPUT_IOCTLS.map((value) => on(value, 'refuse')),
    { op: 'return', value: ALLOW },
    { op: 'label', name: 'socket' },
    { op: 'load', offset: SEEN.argument(0) },
    ...REFUSED_FAMILIES.map((value) => on(value, 'family')),
    { op: 'return', value: ALLOW },
    { op: 'label', name: 'personality' },
    { op: 'load', offset: SEEN.argument(0) },
    ...PERSONALITIES.map((value) => on(value, 'allow')),
    { op: 'label', name: 'refuse' },
    { op: 'return', value: refusal(EPERM) },
    { op: 'label', name: 'clone3' },
    { op: 'return', value: refusal(ENOSYS) },
    { op: 'label', name: 'family' },
    { op: 'return', value: refusal(EAFNOSUPPORT) },
    { op: 'label', name: 'allow' },
    { op: 'return', value: ALLOW },
    { op: 'label', name: 'kill' },
    { op: 'return', value: KILL },
  ])
}

/** The file is readable by every computer's account. */
export function placeFilter(folder: string): string {
  const arch = process.arch
  if (arch !== 'x64' && arch !== 'arm64')
    throw new Error(`system calls cannot be filtered on ${arch}: the filter is written for x64 and arm64`)
  const bytes = seccompFilter(arch)
  const file = join(folder, `seccomp-${arch}-${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}.bpf`)
  if (existsSync(file)) return file
  const making = `${file}.${process.pid}`
  writeFileSync(making, bytes, { mode: 0o444 })
  chmodSync(making, 0o444)
  renameSync(making, file)
  return file
}
