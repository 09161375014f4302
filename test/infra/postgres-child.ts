// A minimal server process for kill tests: locks a data directory, starts PostgreSQL, and prints one JSON line.
// Arguments: the supervisor's source folder, the data directory.
import type { lockDataDir as Lock } from '../../src/infra/postgres/embedded/datadir.ts'
import type { startPostgres as Start } from '../../src/infra/postgres/embedded/supervisor.ts'

const [source, dataDir] = process.argv.slice(2) as [string, string]
const { lockDataDir }: { lockDataDir: typeof Lock } = await import(`${source}/embedded/datadir.ts`)
const { startPostgres }: { startPostgres: typeof Start } = await import(`${source}/embedded/supervisor.ts`)

const logLines: string[] = []
// First, so that a signal during the start can't orphan postgres.
const request = Promise.withResolvers<void>()
process.once('SIGTERM', request.resolve)
try {
  using data = lockDataDir(dataDir)
  await using postgres = await startPostgres({ dataDir: data.dir, log: (line) => logLines.push(line) })
  console.log(JSON.stringify({ connection: postgres.connection, pid: postgres.pid, logged: logLines }))
  await Promise.race([request.promise, postgres.exited])
} catch (error) {
  console.log(
    JSON.stringify({
      refused: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
      logged: logLines,
    }),
  )
  process.exitCode = 1
}
