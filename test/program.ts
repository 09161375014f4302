import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { roomForRun } from './room.ts'

const root = join(import.meta.dirname, '..')

/** The server as a user starts it: `bin/run src/main.ts`, in a child process. */
export interface Program extends AsyncDisposable {
  child: ChildProcess
  /** The address from `ready`. Rejects if the program ends first. */
  ready: Promise<string>
  output(): { stdout: string; stderr: string }
  exited: Promise<number | null>
}

export function startProgram(environment: Record<string, string>): Program {
  const child = spawn('sh', [join(root, 'bin/run'), 'src/main.ts'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      UK_PORT: '0',
      OLLAMA_HOST: 'off',
      UK_LOCAL_ENGINES: 'off',
      // As root they would leave a folder outside the data directory.
      UK_COMPUTER_DRIVERS: 'off',
      UK_DRAIN_SECONDS: '5',
      ...environment,
    },
  })
  let stdout = ''
  let stderr = ''
  const readiness = Promise.withResolvers<string>()
  readiness.promise.catch(() => {})
  child.stdout.on('data', (part: Buffer) => {
    stdout += part
    const line = /^ready (\S+)$/m.exec(stdout)
    if (line) readiness.resolve(line[1]!)
  })
  child.stderr.on('data', (part: Buffer) => (stderr += part))
  const exited = new Promise<number | null>((resolve) =>
    child.on('close', (code) => {
      readiness.reject(new Error(`the program ended with ${code}: ${stderr}`))
      resolve(code)
    }),
  )
  return {
    child,
    ready: readiness.promise,
    output: () => ({ stdout, stderr }),
    exited,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

export function temporaryDir(prefix = 'ukiyo-program-', place = roomForRun()): Disposable & { path: string } {
  const path = mkdtempSync(join(place, prefix))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** Signals processes that still exist; ending one may end others. */
export function signalAll(pids: Iterable<number>, signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
