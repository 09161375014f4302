import { type TestDatabase, databaseUrl, testDatabase } from '../../database.ts'
import { pairedComputer } from '../../makers.ts'
import { type Program, startProgram, temporaryDir } from '../../program.ts'
import { testServer } from '../../server.ts'
import type { Paired } from '../daemon.ts'
import { type Proxy, proxyTo } from '../proxy.ts'
import { type Machine, startMachine } from './machine.ts'

/** Shared, because each process must decrypt what another encrypted. */
const ROOT_KEY = 'one root key for every process of it'
const LONGEST_CALL_MS = 100_000

export interface Answer {
  status: number
  /** `data` or `error`. */
  data: any
  /** The next page's cursor. */
  next: string | null
  headers: Headers
}

/** Two server processes, a machine, and the network between them. */
export interface Scene extends AsyncDisposable {
  machine: Machine
  computerId: string
  network: Proxy
  /** How often keepers were killed. Only what they held may be lost. */
  keepersKilled: number
  /** Calls an endpoint of the computer on either process. Null: the response was lost with its process. */
  ask(
    method: string,
    path: string,
    body?: object | Uint8Array,
    headers?: Record<string, string>,
  ): Promise<Answer | null>
  call(method: string, path: string): Promise<Answer | null>
  socketUrl(path: string): string
  key: string
  killServer(): Promise<void>
  /** Sends the machine's new connections to the other process. */
  move(): void
}

export async function startScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await testDatabase())
  const { key, paired } = await prepared(database)
  const dirs = stack.use(new DisposableStack())
  const start = (): Program =>
    startProgram({
      UK_SECRET_KEY: ROOT_KEY,
      UK_DATA_DIR: dirs.use(temporaryDir()).path,
      DATABASE_URL: databaseUrl(database),
      UK_LOG: 'error',
      UK_LIMIT_READS: '0',
      UK_LIMIT_WRITES: '0',
    })
  const programs = [start(), start()]
  stack.defer(async () => void (await Promise.all(programs.map((program) => program[Symbol.asyncDispose]()))))
  const origins = await Promise.all(programs.map(({ ready }) => ready))
  const network = stack.use(await proxyTo(origins[0]!))
  const machine = stack.use(await startMachine(network.origin, paired))
  const over = new AbortController()
  stack.defer(() => over.abort())
  let leads = 0
  const move = (to = 1 - leads): void => network.to(origins[(leads = to)]!)

  async function call(method: string, path: string, body?: object | Uint8Array, headers: Record<string, string> = {}) {
    const raw = body instanceof Uint8Array
    over.signal.throwIfAborted()
    try {
      const response = await fetch(`${origins[Math.round(Math.random())]}/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body && { 'content-type': raw ? 'application/octet-stream' : 'application/json' }),
          ...headers,
        },
        signal: AbortSignal.timeout(LONGEST_CALL_MS),
        ...(body && { body: raw ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
      })
      const json = (await response.json().catch(() => null)) as {
        data?: unknown
        error?: unknown
        pagination?: { next_cursor: string | null }
      } | null
      const next = json?.pagination?.next_cursor ?? null
      return { status: response.status, data: json?.data ?? json?.error ?? json, next, headers: response.headers }
    } catch {
      return null
    }
  }

  const resources = stack.move()
  return {
    machine,
    computerId: paired.id,
    network,
    keepersKilled: 0,
    ask: (method, path, body, headers) => call(method, `/computers/${paired.id}${path}`, body, headers),
    call,
    socketUrl: (path) =>
      `${origins[Math.round(Math.random())]!.replace('http', 'ws')}/v1/computers/${paired.id}${path}`,
    key,
    async killServer() {
      const slot = Math.round(Math.random())
      programs[slot]!.child.kill('SIGKILL')
      await programs[slot]!.exited
      if (slot === leads) move()
      programs[slot] = start()
      origins[slot] = await programs[slot].ready
    },
    move: () => {
      move()
      network.cut()
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

async function prepared(database: TestDatabase): Promise<{ key: string; paired: Paired }> {
  await using server = await testServer({ database, environment: { UK_SECRET_KEY: ROOT_KEY }, rootKeys: [ROOT_KEY] })
  const alice = await server.person('Alice')
  return { key: (await alice.key()).key, paired: await pairedComputer(alice) }
}
