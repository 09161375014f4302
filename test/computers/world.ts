/** Users and Alice's machine for tests of computers. Removed after the file's tests. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { type Home, type RunningDaemon, daemonHome, continueDaemon, runDaemonAt } from '../link/run-daemon.ts'
import { pairedComputer, teamOf } from '../makers.ts'
import { type Person, type TestServer, testServer } from '../server.ts'
import { PATIENCE_MS } from '#test/until.ts'

export async function serverWithAlice(): Promise<{ server: TestServer; alice: Person }> {
  const server = await testServer()
  after(() => server[Symbol.asyncDispose]())
  return { server, alice: await server.person('Alice') }
}

export interface People {
  bob: Person
  /** Has no access. */
  carol: Person
  vera: Person
  /** Alice's team, with Bob as a member and Vera as a viewer. */
  team: string
}

export async function peopleAround(server: TestServer, alice: Person): Promise<People> {
  const bob = await server.person('Bob')
  const carol = await server.person('Carol')
  const vera = await server.person('Vera')
  const team = await teamOf(alice, [
    [bob, 'member'],
    [vera, 'viewer'],
  ])
  return { bob, carol, vera, team }
}

export interface Machine {
  /** The computer's ID. */
  id: string
  home: Home
  /** Restarts the daemon. */
  restart(): Promise<void>
}

/** Alice's machine, linked by a daemon in this process. */
export async function machineOf(server: TestServer, alice: Person): Promise<Machine> {
  const stack = new AsyncDisposableStack()
  after(() => stack.disposeAsync())
  const home = stack.use(daemonHome())
  const pairing = await pairedComputer(alice)
  let daemon: RunningDaemon = await runDaemonAt(home, server.origin, pairing)
  stack.defer(() => daemon[Symbol.asyncDispose]())
  assert.ok(await server.app.engine.links.online(pairing.id, PATIENCE_MS))
  return {
    id: pairing.id,
    home,
    async restart() {
      await daemon[Symbol.asyncDispose]()
      daemon = continueDaemon(home)
    },
  }
}
