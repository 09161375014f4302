/** Processes under measurement: started, pinned to a core, their CPU time and memory read from /proc. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

export interface Measurable extends AsyncDisposable {
  child: ChildProcess
  pid: number
  port: number
  /** Seconds of CPU, user and system, of all the threads that it has. */
  cpuSeconds(): number
  rssMegabytes(): number
}

/** Starts `command`, waits for `ready` in its output (its first group is the port, where the port is not given). */
export async function startMeasurable(
  command: string[],
  how: { ready: RegExp; port?: number; environment?: Record<string, string>; core?: number; patienceMs?: number },
): Promise<Measurable> {
  const child = spawn(command[0]!, command.slice(1), {
    cwd: root,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...how.environment },
  })
  let output = ''
  const ready = await new Promise<RegExpExecArray>((resolve, reject) => {
    const read = (part: Buffer) => {
      output += part
      const match = how.ready.exec(output)
      if (match) resolve(match)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('exit', (code) => reject(new Error(`${command.join(' ')} ended with ${code}: ${output}`)))
    setTimeout(
      () => reject(new Error(`${command.join(' ')} is not ready: ${output}`)),
      how.patienceMs ?? 30_000,
    ).unref()
  })
  const pid = child.pid!
  if (how.core !== undefined) pin(pid, how.core)
  return {
    child,
    pid,
    port: how.port ?? Number(ready[1]),
    ...measured(pid),
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000)
      await ended
      clearTimeout(timer)
    },
  }
}

/** The figures that the kernel keeps of a process. */
export const measured = (pid: number): Pick<Measurable, 'cpuSeconds' | 'rssMegabytes'> => ({
  cpuSeconds() {
    let nanoseconds = 0
    for (const task of readdirSync(`/proc/${pid}/task`))
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
    return nanoseconds / 1e9
  },
  rssMegabytes: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024,
})

/** All threads of a process on one core. */
export const pin = (pid: number, core: number): void =>
  void execFileSync('taskset', ['-a', '-c', '-p', String(core), String(pid)])

/** Its children, their children, and so on. */
export function descendants(pid: number): number[] {
  const found = spawnSync('pgrep', ['-P', String(pid)])
    .stdout.toString()
    .split('\n')
    .filter(Boolean)
    .map(Number)
  return found.flatMap((child) => [child, ...descendants(child)])
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
