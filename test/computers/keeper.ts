import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import headless from '@xterm/headless'
import type { AskedStream } from '#daemon-protocol/link.ts'
import { KeeperClient } from '#daemon/keeper/client.ts'
import { coreOf, guardErase } from '#packages/terminal-screen/internals.ts'
import { LINES_ABOVE } from '#packages/terminal-screen/screen.ts'
import { CHANNEL } from '#daemon-protocol/channels.ts'
import type { Input, Output } from '#daemon-protocol/operations.ts'
import type { Incoming } from '#packages/mux/stream.ts'
import { until } from '#test/until.ts'

const PROGRAM = join(import.meta.dirname, '../../src/daemon/keeper/main.ts')

/** A real keeper in its own folder, with a client. */
export interface TestKeeper extends AsyncDisposable {
  folder: string
  client: KeeperClient
  /** A second daemon's client. */
  another(): KeeperClient
  kill(): Promise<void>
}

export const keeperCommand = [process.execPath, PROGRAM, '--idle-ms', '2000']

/** `node`: extra arguments for Node. */
export async function startKeeper(node: readonly string[] = []): Promise<TestKeeper> {
  const folder = mkdtempSync(join(tmpdir(), 'uk-keeper-'))
  const clients: KeeperClient[] = []
  const [program = '', ...words] = keeperCommand
  const another = (): KeeperClient => {
    const client = new KeeperClient({ folder, command: [program, ...node, ...words] })
    clients.push(client)
    return client
  }
  const client = another()
  await client.hello()
  const kill = async (): Promise<void> => {
    const { pid } = await client.hello()
    process.kill(pid, 'SIGKILL')
    await until(async () => hasExited(pid), Boolean)
  }
  return {
    folder,
    client,
    another,
    kill,
    async [Symbol.asyncDispose]() {
      const { pid } = await client.hello()
      for (const one of clients) await one.close()
      process.kill(pid, 'SIGTERM')
      await until(async () => hasExited(pid), Boolean)
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

export function hasExited(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

/** Live processes with this argument. */
export const withWord = (word: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return /^\d/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word)
    } catch {
      return false
    }
  })

export const execInput = (key: string, argv: string[], more: Partial<Input<'exec'>> = {}): Input<'exec'> => ({
  key,
  argv,
  cwd: '/',
  env: {},
  user: null,
  timeout_ms: null,
  stdin: false,
  from: { stdout: 0, stderr: 0 },
  ...more,
})

export interface CommandOutput {
  end: Output<'exec'>
  stdout: string
  stderr: string
  pid: number
}

export async function ran(stream: AskedStream<'exec'>): Promise<CommandOutput> {
  const parts: Record<number, Buffer[]> = { [CHANNEL.stdout]: [], [CHANNEL.stderr]: [] }
  let pid = 0
  for await (const incoming of stream) {
    if (incoming.type === 'bytes') parts[incoming.channel]!.push(Buffer.from(incoming.bytes))
    if (incoming.type === 'event') pid = (incoming.event as { pid: number }).pid
  }
  const text = (channel: number): string => Buffer.concat(parts[channel]!).toString()
  return { end: await stream.output, stdout: text(CHANNEL.stdout), stderr: text(CHANNEL.stderr), pid }
}

export const exec = async (client: KeeperClient, input: Input<'exec'>): Promise<CommandOutput> =>
  ran(await client.open('exec', input))

export async function call<
  O extends 'terminal.list' | 'terminal.write' | 'terminal.resize' | 'terminal.close' | 'exec.kill' | 'terminal.open',
>(client: KeeperClient, op: O, input: Input<O>): Promise<Output<O>> {
  return (await client.open(op, input)).output
}

export const openTerminal = (
  client: KeeperClient,
  terminal_id: string,
  argv: string[] | null = ['bash', '--norc', '-i'],
  more: Partial<Input<'terminal.open'>> = {},
): Promise<Output<'terminal.open'>> =>
  call(client, 'terminal.open', {
    terminal_id,
    argv,
    cwd: '/',
    env: { PS1: '$ ' },
    user: null,
    cols: 80,
    rows: 24,
    name: null,
    ...more,
  })

export type Screen = InstanceType<typeof headless.Terminal>

export function screenOf(cols = 80, rows = 24): Screen {
  const screen = new headless.Terminal({ cols, rows, scrollback: LINES_ABOVE, allowProposedApi: true, logLevel: 'off' })
  guardErase(screen)
  return screen
}

export const feed = (screen: Screen, bytes: Uint8Array): void => coreOf(screen)._inputHandler.parse(bytes)

export function linesOf(screen: Screen): string[] {
  const { normal, active } = screen.buffer
  const buffer = active.type === 'alternate' ? active : normal
  return Array.from({ length: buffer.length }, (_, y) => buffer.getLine(y)!.translateToString(true))
}

/** A terminal viewer that handles the stream as a browser does. */
export class Viewer {
  readonly stream: AskedStream<'terminal.attach'>
  readonly events: Record<string, unknown>[] = []
  screen = screenOf()
  /** The end of the shown output; initially the position to resume from. */
  offset: number
  #snapshots = 0
  /** Remaining bytes of the snapshot. */
  #toDraw = 0
  /** The screen after the last snapshot. */
  atSnapshot: { at: number; lines: string[] } | null = null
  onBody: (bytes: Buffer, offset: number) => void = () => {}
  #paused: Promise<void> = Promise.resolve()
  readonly ended: Promise<unknown>

  constructor(stream: AskedStream<'terminal.attach'>, from: number) {
    this.stream = stream
    this.offset = from
    this.ended = this.#read().then(
      () => stream.output,
      (error: unknown) => error,
    )
  }

  static async attach(
    client: KeeperClient,
    terminal_id: string,
    from: number | null = null,
    viewer = 'v',
  ): Promise<Viewer> {
    return new Viewer(await client.open('terminal.attach', { terminal_id, viewer, from }), from ?? 0)
  }

  pause(until: Promise<void>): void {
    this.#paused = until
  }

  type(text: string, seq: number | null = null): void {
    this.stream.event({ type: 'input', data: Buffer.from(text).toString('base64'), seq })
  }

  size(cols: number, rows: number): void {
    this.stream.event({ type: 'resize', cols, rows })
  }

  async #read(): Promise<void> {
    for await (const incoming of this.stream) {
      this.#take(incoming)
      await this.#paused
    }
  }

  #take(incoming: Incoming): void {
    if (incoming.type === 'bytes') {
      feed(this.screen, incoming.bytes)
      if (incoming.channel === CHANNEL.body) {
        this.offset = incoming.offset + incoming.bytes.length
        this.onBody(Buffer.from(incoming.bytes), incoming.offset)
      } else if ((this.#toDraw -= incoming.bytes.length) === 0) {
        this.atSnapshot = { at: this.offset, lines: linesOf(this.screen) }
        this.#snapshots++
      }
    }
    if (incoming.type !== 'event') return
    const event = incoming.event as { type: string; cols: number; rows: number; at: number; bytes: number }
    this.events.push(event)
    if (event.type === 'resize') this.screen.resize(event.cols, event.rows)
    if (event.type === 'snapshot') {
      this.screen = screenOf(this.screen.cols, this.screen.rows)
      this.offset = event.at
      this.#toDraw = event.bytes
    }
  }

  get snapshots(): number {
    return this.#snapshots
  }

  text(): string {
    return linesOf(this.screen).join('\n').trimEnd()
  }

  async shows(what: string | RegExp): Promise<string> {
    return until(
      async () => this.text(),
      (text) => (typeof what === 'string' ? text.includes(what) : what.test(text)),
    )
  }
}
