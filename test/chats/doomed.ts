import { type TestDatabase, databaseUrl, testDatabase } from '../database.ts'
import { startProgram, temporaryDir } from '../program.ts'
import { type Caller, caller, testServer } from '../server.ts'

/** The server as a program of its own, on a database of its own that outlives it. */
export interface Doomed extends AsyncDisposable {
  database: TestDatabase
  /** Alice at the program. */
  alice: Caller
  kill(): Promise<void>
}

export async function doomedServer(): Promise<Doomed> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await testDatabase())
  const dir = stack.use(temporaryDir())
  const program = stack.use(
    startProgram({ UK_DATA_DIR: dir.path, DATABASE_URL: databaseUrl(database), UK_LOG: 'error' }),
  )
  const headers = await headersOfAlice(database)
  const alice = caller(await program.ready, headers)
  const living = stack.move()
  return {
    database,
    alice,
    async kill() {
      program.child.kill('SIGKILL')
      await program.exited
    },
    [Symbol.asyncDispose]: () => living.disposeAsync(),
  }
}

/** Signs up where the tests know how to. */
async function headersOfAlice(database: TestDatabase): Promise<Record<string, string>> {
  await using server = await testServer({ database })
  return (await server.person('Alice')).headers
}
