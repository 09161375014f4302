/**
 * Runs test files in a few long-lived processes: most of a file's time was loading the server and running it before it
 * was compiled.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve as resolvePath } from 'node:path'
import { ProcessorWatch } from './processor-watch.ts'
import { estimateSeconds, readTimes } from './times.ts'
import type { Outcome } from './worker.ts'

const root = join(import.meta.dirname, '../..')
const STEADY_WORKERS = availableParallelism()
/**
 * Only take files while the CPUs are idle, when other tests are waiting. On a busy machine they slow the others more
 * than they achieve: with slow memory pages, 78 tests took 93 s with five workers on two CPUs and 63 s with two.
 */
const EXTRA_WORKERS = 3
const MAX_BYTES = 900 << 20
/** Ends hanging tests. A busy machine needs several times as long as a quiet one, so no test comes near it. */
const TEST_MS = 600_000
const FILE_MS = 1_800_000

/** Files that change process-wide state or measure the process run alone. */
const ALONE =
  /process\.(memoryUsage|cpuUsage|chdir|umask|on\()|process\.env\.\w+ = |delete process\.env|setFlagsFromString|globalThis\.set(Timeout|Interval) = |mock\.timers|PerformanceObserver/

/**
 * Chromium aborts loads when the machine's addresses change (`ERR_NETWORK_CHANGED`), as containers with a bridge cause,
 * so browser tests and such containers never overlap.
 */
const NETWORK: readonly [uses: 'changes' | 'watches', text: RegExp][] = [
  ['changes', /startPodman\(/],
  ['watches', /hasChromium/],
]

interface Waiting {
  file: string
  alone: boolean
  seconds: number
  network: 'changes' | 'watches' | undefined
}

export async function runFiles(
  files: readonly string[],
  environment: Record<string, string>,
  tell: (outcome: Outcome) => void,
): Promise<void> {
  const times = readTimes()
  const waiting = files
    .map((file) => ({ file, text: readFileSync(resolvePath(root, file), 'utf8') }))
    .map(({ file, text }): Waiting => {
      const network = NETWORK.find(([, uses]) => uses.test(text))?.[0]
      const seconds = estimateSeconds(times, file, text)
      return { file, alone: ALONE.test(text), seconds, network }
    })
    // The last started should be short. Files with few allowed neighbors finish before they start.
    .toSorted((a, b) => Number(b.network === 'changes') - Number(a.network === 'changes') || b.seconds - a.seconds)
  const processors = new ProcessorWatch()
  const running = new Set<Waiting>()
  let ended = Promise.withResolvers<void>()
  const disturbs = (one: Waiting): boolean =>
    [...running].some(({ network }) => network && one.network && network !== one.network)
  const one = async (run: (next: Waiting) => Promise<Outcome>): Promise<boolean> => {
    while (waiting.length > 0 && waiting.every(disturbs)) await ended.promise
    const next = waiting.find((each) => !disturbs(each))
    if (!next) return false
    waiting.splice(waiting.indexOf(next), 1)
    if (waiting.length === 0) processors.stop()
    running.add(next)
    tell(await run(next))
    running.delete(next)
    ended.resolve()
    ended = Promise.withResolvers()
    return true
  }
  await Promise.all(
    Array.from({ length: Math.min(STEADY_WORKERS + EXTRA_WORKERS, waiting.length) }, async (_, index) => {
      let worker: Worker | null = null
      const run = async (next: Waiting): Promise<Outcome> => {
        if (next.alone) return runAlone(next.file, environment)
        if (!worker?.usable()) {
          await worker?.end()
          worker = startWorker(environment)
        }
        return worker.run(next.file)
      }
      do {
        if (index >= STEADY_WORKERS) await processors.becomeIdle()
      } while (await one(run))
      await (worker as Worker | null)?.end()
    }),
  )
}

export async function runAlone(file: string, environment: Record<string, string>): Promise<Outcome> {
  const worker = startWorker(environment)
  const outcome = await worker.run(file)
  await worker.end()
  return outcome
}

interface Worker {
  run(file: string): Promise<Outcome>
  usable(): boolean
  end(): Promise<void>
}

function startWorker(environment: Record<string, string>): Worker {
  const child = fork(join(root, 'test/runner/worker.ts'), {
    cwd: root,
    env: { ...process.env, ...environment },
    execArgv: ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=32', `--test-timeout=${TEST_MS}`],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part: Buffer) => (output += part.toString()))
  let isFit = true
  const closed = new Promise<string>((resolve) =>
    child.on('close', (code, signal) => resolve(signal ?? `code ${code}`)),
  )
  return {
    async run(file) {
      const startedAt = performance.now()
      const late = setTimeout(() => child.kill('SIGKILL'), FILE_MS)
      child.send(file)
      const outcome = await Promise.race([answer(child), closed.then((how) => brokenOutcome(file, how, startedAt))])
      clearTimeout(late)
      isFit = outcome.quiet && outcome.memory < MAX_BYTES
      const text = output + outcome.text
      output = ''
      return { ...outcome, text }
    },
    usable: () => child.connected && isFit,
    async end() {
      // Its files are closed. (After our own `disconnect`, `close` would never fire.)
      child.kill('SIGKILL')
      await closed
    },
  }
}

const answer = (child: ChildProcess): Promise<Outcome> =>
  new Promise((resolve) => child.once('message', (outcome) => resolve(outcome as Outcome)))

const brokenOutcome = (file: string, how: string, startedAt: number): Outcome => ({
  file,
  text: `✖ the process of ${file} ended with ${how}\n`,
  passed: 0,
  failed: 1,
  skipped: 0,
  seconds: (performance.now() - startedAt) / 1000,
  processor: 0,
  memory: Infinity,
  quiet: false,
})
