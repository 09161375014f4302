/** Processes of the host that make up a sandbox. */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { DriverFault } from './driver.ts'
import { HOST_ENV } from './run.ts'

/**
 * Holds the lock of the computer for as long as it runs, so that it never runs twice, whoever starts it; says who it is;
 * and puts itself under the limits, and with it all that it starts. Sandboxes end with it.
 * `LOCK PID_FILE CGROUP_FILES… -- COMMAND…`
 */
const SUPERVISOR = `
exec 9>"$1" || exit 74
flock -n 9 || exit 75
read -r stat </proc/$$/stat
echo "$stat" >"$2.new" && mv "$2.new" "$2" || exit 74
shift 2
while [ "$1" != -- ]; do echo $$ >"$1" || exit 76; shift; done
shift
"$@" 9>&- &
wait $!
`

export interface Supervised {
  lock: string
  pidFile: string
  log: string
  cgroups: readonly string[]
  line: readonly string[]
}

const STARTS_MS = 5_000

/** Starts a sandbox that outlives this process. Resolves once it has taken its place. */
export async function supervise({ lock, pidFile, log, cgroups, line }: Supervised): Promise<void> {
  rmSync(pidFile, { force: true })
  const out = openSync(log, 'w', 0o600)
  const child = spawn('/bin/sh', ['-c', SUPERVISOR, 'ukiyo-computer', lock, pidFile, ...cgroups, '--', ...line], {
    detached: true,
    cwd: '/',
    env: HOST_ENV,
    stdio: ['ignore', out, out],
  })
  closeSync(out)
  child.unref()
  let code: number | null | undefined
  child.once('exit', (ended) => (code = ended)).once('error', () => (code = null))
  for (const until = performance.now() + STARTS_MS; performance.now() < until; await sleep(2)) {
    if (supervisorOf(pidFile) !== null) return
    if (code === 75) throw new DriverFault('Another sandbox of this computer is still running.')
    if (code !== undefined) throw new DriverFault(`The sandbox exited immediately (${code}): ${tail(log)}`)
  }
  throw new DriverFault('The sandbox didn’t start within 5 seconds.')
}

/** The pid of the process that holds the sandbox, while it lives. */
export function supervisorOf(pidFile: string): number | null {
  try {
    const written = readFileSync(pidFile, 'utf8')
    const pid = Number.parseInt(written, 10)
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return startOf(written) === startOf(stat) && !hasEnded(stat) ? pid : null
  } catch {
    return null
  }
}

/**
 * The start time of a process: the twenty-second field, behind a name that may hold anything. With the pid it names a
 * process for good.
 */
const startOf = (stat: string): string | undefined => stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]

const ENDS_MS = 10_000

/**
 * Ends everything of a sandbox: the process that holds it, all that descends from that, and programs of sandboxes that
 * name its folder in their command line.
 */
export async function endAll(pidFile: string, folder: string): Promise<void> {
  for (const until = performance.now() + ENDS_MS; ;) {
    const left = processesOf(pidFile, folder)
    if (left.length === 0) return
    for (const pid of left) signal(pid, 'SIGKILL')
    // All processes of the host are looked through only once these have ended: that holds up everybody whom the server
    // serves.
    do {
      if (performance.now() > until)
        throw new DriverFault(`Processes of the computer can’t be terminated: ${left.join(', ')}.`)
      await sleep(2)
    } while (left.some(lives))
  }
}

function lives(pid: number): boolean {
  try {
    return !hasEnded(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** Whether a process has ended and only its entry is left, which nobody has asked after. */
const hasEnded = (stat: string): boolean => ['Z', 'X'].includes(stat.charAt(stat.lastIndexOf(')') + 2))

const PROGRAMS = ['bwrap', 'pasta', 'pasta.avx2', 'prlimit', 'setpriv']
/** The programs of a sandbox, as the kernel calls them. */
const SANDBOX = new Set([...PROGRAMS, 'sh', 'dash', 'bash', 'busybox'])
/**
 * Whether a process is of the sandbox. Somebody who reads the log of a computer, or copies its home, names its folder
 * too.
 */
const isOfSandbox = ([program = '', ...words]: readonly string[]): boolean => {
  const name = program.slice(program.lastIndexOf('/') + 1)
  return PROGRAMS.includes(name) || (name === 'sh' && (words.includes('ukiyo-computer') || words.includes('bwrap')))
}

/** The processes of a sandbox, the one that holds the others last. */
export function processesOf(pidFile: string, folder: string): number[] {
  const parents = new Map<number, number>()
  const found = new Set<number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      if (hasEnded(stat)) continue
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
      if (!SANDBOX.has(stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')))) continue
      const line = readFileSync(`/proc/${name}/cmdline`, 'latin1')
      if (line.includes(`${folder}/`) && isOfSandbox(line.split('\0'))) found.add(Number(name))
    } catch {
      // The process has just ended.
    }
  }
  const held = supervisorOf(pidFile)
  if (held !== null) found.add(held)
  for (let grown = -1; grown !== found.size;) {
    grown = found.size
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid)
  }
  found.delete(process.pid)
  return [...found].toSorted((a, b) => Number(a === held) - Number(b === held))
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has ended.
  }
}

/** The end of a sandbox's output. */
export function tail(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').slice(-3).join(' ').slice(-500)
  } catch {
    return ''
  }
}
