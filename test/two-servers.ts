import { after } from 'node:test'
import { type Caller, type Person, type TestOptions, type TestServer, caller, testServer } from './server.ts'

export interface TwoServers {
  server: TestServer
  twin: TestServer
  alice: Person
  beyond: Caller
  /** Resolves when call costs are in the ledger. */
  settled(): Promise<unknown>
}

export async function twoServers(options: TestOptions = {}): Promise<TwoServers> {
  const stack = new AsyncDisposableStack()
  after(() => stack.disposeAsync())
  const server = stack.use(await testServer(options))
  const twin = stack.use(await server.twin())
  const alice = await server.person('Alice')
  return {
    server,
    twin,
    alice,
    beyond: caller(twin.origin, alice.headers),
    settled: () => Promise.all([server, twin].map(({ app }) => app.engine.ledger.flush())),
  }
}
