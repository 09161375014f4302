import { StartRefused } from '../../start-refused.ts'
import type { Binaries } from './binaries.ts'
import type { Place } from './place.ts'
import { explainEnd, startProgram } from './program.ts'
import { serverArgs } from './settings.ts'

export interface Exit {
  isExpected: boolean
  reason: string
}

export interface RunningServer {
  pid: number
  exited: Promise<Exit>
  stop: () => Promise<void>
}

/** Lines of every start and stop. All others (recovery, crashes, wrong passwords) are logged. */
const routine =
  /^LOG: +(starting PostgreSQL|listening on|database system (was shut down at|is ready|is shut down)|received (smart|fast) shutdown|shutting down|aborting any active|checkpoint|background worker)|^FATAL: +(terminating connection due to administrator|the database system is (starting|shutting))/

export async function startServer(
  binaries: Binaries,
  place: Place,
  socketDir: string,
  log: (line: string) => void,
  settings?: Readonly<Record<string, string>>,
): Promise<RunningServer> {
  let stopping = false
  const ready = Promise.withResolvers<'ready'>()
  const program = startProgram(binaries, 'postgres', serverArgs(place.cluster, socketDir, settings), {
    cwd: '/',
    user: place.user,
    onLine(line) {
      // This log line is the earliest sign and needs no polling. It is English because LC_ALL is C.
      if (line.includes('database system is ready to accept connections')) ready.resolve('ready')
      if (!routine.test(line)) log(`postgres: ${line}`)
    },
  })
  const { child } = program
  // If the server exits abruptly (process.exit, an uncaught error), PostgreSQL stops too.
  const onExit = () => child.kill('SIGINT')
  process.once('exit', onExit)
  const exited = program.ended
    .finally(() => process.off('exit', onExit))
    .then((end): Exit => {
      return {
        isExpected: stopping,
        reason: stopping ? 'PostgreSQL was stopped' : explainEnd('PostgreSQL', program, end, place.cluster),
      }
    })
  const first = await Promise.race([ready.promise, exited])
  if (first !== 'ready') throw new StartRefused(`the database in ${place.cluster} doesn’t start: ${first.reason}`)

  return {
    pid: child.pid!,
    exited,
    async stop() {
      stopping = true
      await stopChild(child.pid!, exited, log)
    },
  }
}

/** Shutdown modes and their time limits. Smart waits for clients, fast disconnects them. */
const ways: [signal: NodeJS.Signals, milliseconds: number][] = [
  ['SIGTERM', 200],
  ['SIGINT', 30_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
]

async function stopChild(pid: number, exited: Promise<Exit>, log: (line: string) => void): Promise<void> {
  for (const [signal, milliseconds] of ways) {
    if (signal === 'SIGQUIT') log('PostgreSQL doesn’t stop in time. It recovers at the next start')
    try {
      process.kill(pid, signal)
    } catch {
      // Already ended; `exited` reports it below.
    }
    const timeout = Promise.withResolvers<'late'>()
    const timer = setTimeout(timeout.resolve, milliseconds, 'late')
    const first = await Promise.race([exited, timeout.promise])
    clearTimeout(timer)
    if (first !== 'late') return
  }
}
