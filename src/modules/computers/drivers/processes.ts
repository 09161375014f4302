import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { DriverFault } from './driver.ts'
import { HOST_ENV } from './run.ts'

/**
 * The lock keeps a computer from running twice. Writes its PID, joins the control groups, and takes its sandbox with
 * it. `LOCK PID_FILE CGROUP_FILES… -- COMMAND…`
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

/** Resolves once the sandbox, which outlives this process, holds the lock. */
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
  child.once('exit', (exitCode) => (code = exitCode)).once('error', () => (code = null))
  for (const until = performance.now() + STARTS_MS; performance.now() < until; await sleep(2)) {
    if (supervisorOf(pidFile) !== null) return
    if (code === 75) throw new DriverFault('Another sandbox of this computer is still running.')
    if (code !== undefined) throw new DriverFault(`The sandbox exited immediately (${code}): ${tail(log)}`)
  }
  throw new DriverFault('The sandbox didn’t start within 5 seconds.')
}

export function supervisorOf(pidFile: string): number | null {
  try {
    const content = readFileSync(pidFile, 'utf8')
    const pid = Number.parseInt(content, 10)
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return startOf(content) === startOf(stat) && !hasEnded(stat) ? pid : null
  } catch {
    return null
  }
}

/** Field 22 of `/proc/PID/stat`. With the PID, it identifies a process uniquely. */
const startOf = (stat: string): string | undefined => stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]

const END_TIMEOUT_MS = 10_000

/** Includes descendants and sandbox programs whose command line names the folder. */
export async function endAll(pidFile: string, folder: string): Promise<void> {
  for (const until = performance.now() + END_TIMEOUT_MS; ;) {
    const pids = processesOf(pidFile, folder)
    if (pids.length === 0) return
    for (const pid of pids) signal(pid, 'SIGKILL')
    // Scanning all host processes blocks the event loop.
    do {
      if (performance.now() > until)
        throw new DriverFault(`Processes of the computer can’t be terminated: ${pids.join(', ')}.`)
      await sleep(2)
    } while (pids.some(isAlive))
  }
}

function isAlive(pid: number): boolean {
  try {
    return !hasEnded(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

const hasEnded = (stat: string): boolean => ['Z', 'X'].includes(stat.charAt(stat.lastIndexOf(')') + 2))

const PROGRAMS = ['bwrap', 'pasta', 'pasta.avx2', 'prlimit', 'setpriv']
/** The sandbox's programs, as the kernel names them. */
const SANDBOX = new Set([...PROGRAMS, 'sh', 'dash', 'bash', 'busybox'])
/** Other programs may name the folder too, such as one reading the log. */
const isOfSandbox = ([program = '', ...words]: readonly string[]): boolean => {
  const name = program.slice(program.lastIndexOf('/') + 1)
  return PROGRAMS.includes(name) || (name === 'sh' && (words.includes('ukiyo-computer') || words.includes('bwrap')))
}

/** The supervisor comes last. */
export function processesOf(pidFile: string, folder: string): number[] {
  const parents = new Map<number, number>()
  const pids = new Set<number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      if (hasEnded(stat)) continue
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
      if (!SANDBOX.has(stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')))) continue
      const line = readFileSync(`/proc/${name}/cmdline`, 'latin1')
      if (line.includes(`${folder}/`) && isOfSandbox(line.split('\0'))) pids.add(Number(name))
    } catch {
      // The process exited.
    }
  }
  const supervisor = supervisorOf(pidFile)
  if (supervisor !== null) pids.add(supervisor)
  for (let grown = -1; grown !== pids.size;) {
    grown = pids.size
    for (const [pid, parent] of parents) if (pids.has(parent)) pids.add(pid)
  }
  pids.delete(process.pid)
  return [...pids].toSorted((a, b) => Number(a === supervisor) - Number(b === supervisor))
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process exited.
  }
}

export function tail(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').slice(-3).join(' ').slice(-500)
  } catch {
    return ''
  }
}
