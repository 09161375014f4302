import { spawn } from 'node:child_process'
import { closeSync, openSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AskedStream, type Mux, overSocket } from '#daemon-protocol/link.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Input, OperationName } from '#daemon-protocol/operations.ts'
import { relay } from '#packages/mux/relay.ts'
import { LinkLost, type Stream } from '#packages/mux/stream.ts'
import { forKeeper } from '../environment.ts'
import { KEEPER_FLAGS } from '../program/own.ts'
import { addressOf, makeFolder } from './place.ts'
import { type DaemonWords, KEEPER_PROTOCOL, type KeeperHello } from './run.ts'

const ANSWERS_MS = 15_000
const GREETS_MS = 5_000
const LONGEST_LOG = 1_048_576

export interface KeeperOptions {
  folder: string
  /** The keeper's program and arguments, without the folder. Default: `main.ts` beside this file. */
  command?: readonly string[]
  /** A command that starts a keeper in place of `command`, such as a system service. */
  starts?: readonly string[]
  /** The environment for commands, terminals and a new keeper. Default: unchanged. */
  surroundings?: () => NodeJS.ProcessEnv
  /** Whether this program may replace a keeper with another protocol version. Default: true. */
  renews?: boolean
}

const MAIN = join(import.meta.dirname, 'main.ts')

/** The daemon's connection to its user's keeper. Starts a keeper if none is running. */
export class KeeperClient {
  readonly #folder: string
  readonly #command: readonly string[]
  readonly #starts: readonly string[] | null
  readonly #renews: boolean
  readonly #surroundings: (() => NodeJS.ProcessEnv) | null
  #connection: Promise<Connection> | null = null

  constructor({
    folder,
    command = [process.execPath, ...KEEPER_FLAGS, MAIN],
    starts,
    renews = true,
    surroundings,
  }: KeeperOptions) {
    this.#folder = folder
    this.#command = command
    this.#starts = starts ?? null
    this.#renews = renews
    this.#surroundings = surroundings ?? null
  }

  /**
   * Connects, starting a keeper if needed. Replaces a keeper with another protocol version, keeping its terminals
   * and commands.
   */
  async hello(): Promise<KeeperHello> {
    const { hello } = await this.#connected()
    return hello.protocol === KEEPER_PROTOCOL || !this.#renews ? hello : this.replace()
  }

  async find(): Promise<KeeperHello | null> {
    const socket = await dial(addressOf(this.#folder))
    const connection = socket && (await greet(socket))
    connection?.mux.close(1000, 'that was all')
    return connection?.hello ?? null
  }

  async open<O extends OperationName>(op: O, input: Input<O>): Promise<AskedStream<O>> {
    return (await this.#understood()).open({ op, input })
  }

  /**
   * Relays a call to the keeper and back. Throws `LinkLost` if the keeper was lost or replaced; a retry with the
   * same key continues the call.
   */
  async answer(op: OperationName, input: unknown, stream: Stream, signal: AbortSignal): Promise<object> {
    return relay(stream, (await this.#understood()).open({ op, input }), signal)
  }

  async #understood(): Promise<Mux> {
    const { mux, hello } = await this.#connected().catch((error: unknown) => {
      if (error instanceof Refusal) throw error
      return refuse('timeout', {
        message: 'The process that keeps terminals and commands on the computer doesn’t respond.',
      })
    })
    if (hello.protocol !== KEEPER_PROTOCOL)
      refuse('unavailable', {
        message: 'The process that keeps terminals and commands has a different version than the daemon.',
        headers: { 'retry-after': '10' },
      })
    return mux
  }

  /**
   * Replaces the keeper's program while terminals and commands keep running. Rejected without changes if the new
   * program can't read the state.
   */
  async replace(command: readonly string[] = this.#command): Promise<KeeperHello> {
    const { mux, hello } = await this.#connected()
    try {
      // A successful replacement never answers.
      await mux.open({ op: 'keeper.replace' as OperationName, input: { command } }).output
    } catch (error) {
      if (!(error instanceof LinkLost)) throw error
    }
    const { hello: after } = await this.#connected()
    if (after.keeper_id !== hello.keeper_id)
      refuse('internal_error', {
        message: 'The process that keeps terminals and commands was lost while it was being replaced.',
      })
    return after
  }

  async close(): Promise<void> {
    const connection = await this.#connection?.catch(() => null)
    connection?.mux.close(1000, 'the daemon stops')
  }

  async end(): Promise<void> {
    const keeper = await this.find()
    if (keeper === null) return
    try {
      process.kill(keeper.pid, 'SIGTERM')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }

  async #connected(): Promise<Connection> {
    const connection = (this.#connection ??= this.#connect())
    connection.then(
      ({ mux, gone }) => (mux.closed ? forget() : gone.then(forget)),
      () => forget(),
    )
    const forget = (): void => {
      if (this.#connection === connection) this.#connection = null
    }
    const result = await connection
    if (!result.mux.closed) return result
    forget()
    return this.#connected()
  }

  async #connect(): Promise<Connection> {
    makeFolder(this.#folder)
    const end = performance.now() + ANSWERS_MS
    let startedAt = -Infinity
    for (;;) {
      const path = addressOf(this.#folder)
      const socket = await dial(path)
      const connection = socket && (await greet(socket, this.#surroundings?.()))
      if (connection) return connection
      if (performance.now() > end) throw new Error(`no keeper answers at ${path}; see ${this.#folder}/keeper.log`)
      // A keeper that was just started or is being replaced needs a moment.
      if (!socket && performance.now() - startedAt > 2_000) {
        this.#start()
        startedAt = performance.now()
      }
      await sleep(10)
    }
  }

  #start(): void {
    const [file = '', ...args] = this.#starts ?? [...this.#command, this.#folder]
    const path = join(this.#folder, 'keeper.log')
    const long = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LONGEST_LOG
    const log = openSync(path, long ? 'w' : 'a', 0o600)
    // A service has a separate environment, but the command that starts it needs the system's.
    const env = this.#starts === null ? forKeeper(this.#surroundings?.() ?? process.env) : process.env
    const child = spawn(file, args, { detached: true, cwd: '/', stdio: ['ignore', log, log], env })
    child.on('error', () => {})
    child.unref()
    closeSync(log)
  }
}

interface Connection {
  mux: Mux
  hello: KeeperHello
  gone: Promise<void>
}

const dial = (path: string): Promise<Socket | null> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => resolve(socket)).once('error', () => resolve(null))
  })

/** Below the size limit of HELLO. A larger environment isn't sent, and the keeper uses its current one. */
const MAX_SURROUNDINGS = 32_768

function helloOf(surroundings: NodeJS.ProcessEnv | undefined): DaemonWords {
  const environment = surroundings && forKeeper(surroundings)
  const fits = environment && Buffer.byteLength(JSON.stringify(environment)) <= MAX_SURROUNDINGS
  return { protocol: KEEPER_PROTOCOL, ...(fits && { environment }) }
}

const greet = (socket: Socket, surroundings?: NodeJS.ProcessEnv): Promise<Connection | null> =>
  new Promise((resolve) => {
    let markGone: () => void = () => {}
    const gone = new Promise<void>((done) => (markGone = done))
    // A process that doesn't greet isn't a keeper.
    const late = setTimeout(() => socket.destroy(), GREETS_MS)
    const mux = overSocket(socket, {
      opens: 'odd',
      // The keeper is our own program; `protocol` says whether it speaks this version.
      onHello(hello) {
        clearTimeout(late)
        resolve({ mux, hello: hello as unknown as KeeperHello, gone })
      },
      answer: async () => refuse('not_found', { message: 'A daemon answers no keeper.' }),
      onClose: () => {
        clearTimeout(late)
        markGone()
        resolve(null)
      },
    })
    mux.hello(helloOf(surroundings))
  })
