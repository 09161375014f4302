import { randomBytes } from 'node:crypto'
import { constants } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { contracts } from '#modules/contracts.ts'
import { type Exit, Stop, codeOf, exitFor } from '../../exit.ts'
import { parseArguments } from '../../input/arguments.ts'
import { textField } from '../../input/fields.ts'
import { readText } from '../../input/input.ts'
import type { Terminal } from '../../terminal.ts'
import { Typed } from './typed.ts'
import { type Target, computerNamed } from './target.ts'

const fields = [...['terminal', 'shell', 'user', 'cwd'].map(textField), { ...textField('computer'), inPath: true }]

/** Resets modes a program may have left on: alternate screen, mouse, bracketed paste, hidden cursor, colors. */
const RESTORE = '\x1b[?1049l\x1b[?1000;1002;1003;1006;2004l\x1b[?25h\x1b[0m'
/** Clears the screen but not the scrollback. */
const CLEAR = '\x1b[0m\x1b[2J\x1b[H'
const MAX_WAITING = 1_000
const PING_MS = 15_000
/**
 * Temporary errors for an existing terminal: after a restart, the server may be back before the computer, and rate
 * limits pass.
 */
const AWAY = new Set([409, 429])
const AGAIN_MS = [250, 500, 1_000, 2_000, 4_000, 8_000]

type End =
  | { type: 'ended'; exit_code: number | null; signal: string | null }
  | { type: 'detached' }
  | { type: 'refused'; exit: Exit; reason: string }

/**
 * Opens a terminal, or returns to one. `Enter ~ .` detaches. A broken connection is restored where it was, also across
 * server restarts.
 */
export async function ssh(words: readonly string[], terminal: Terminal): Promise<number> {
  const { input, globals } = await parseArguments(words, fields, readText)
  const { computer, terminal: terminalId, shell, user, cwd } = input as Record<string, string | undefined>
  if (computer === undefined) throw new Stop('usage', 'Missing computer.', 'Example: uk computer ssh box')
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw new Stop(
      'usage',
      'This command needs a terminal.',
      'To run one command, use: uk computer exec box -- COMMAND',
    )
  const target = await computerNamed(computer, globals, terminal)
  const id = terminalId ?? (await open(target, { shell, user, cwd }))
  terminal.err(terminal.style('dim', 'Press Enter ~ . to detach.'))
  // A new terminal shows from its first byte, below the current screen content.
  const end = await follow(target, id, terminalId === undefined ? 0 : null)
  process.stdout.write(RESTORE)
  if (end.type === 'refused') throw new Stop(end.exit, end.reason)
  if (end.type === 'detached') {
    terminal.err(`\nDetached. The terminal keeps running. Reattach: uk computer ssh ${computer} --terminal ${id}`)
    return codeOf('ok')
  }
  return end.exit_code ?? 128 + (constants.signals[end.signal as NodeJS.Signals] ?? 0)
}

async function open({ id, call }: Target, options: Record<string, string | undefined>): Promise<string> {
  const { endpoints } = await contracts.computers()
  const answer = await call(endpoints.terminal, {
    id,
    action: 'open',
    cols: process.stdout.columns,
    rows: process.stdout.rows,
    ...options,
  })
  return (JSON.parse(await answer.text()) as { data: { terminal_id: string } }).data.terminal_id
}

async function follow(target: Target, id: string, from: number | null): Promise<End> {
  const { stdin, stdout } = process
  const viewer = randomBytes(12).toString('hex')
  const typed = new Typed()
  let at = from
  let socket: WebSocket | null = null
  const detached = Promise.withResolvers<End>()
  const onInput = (bytes: Buffer): void => {
    const { send, detach } = typed.take(bytes)
    if (send.length > 0) type(send.toString('utf8'))
    if (detach) detached.resolve({ type: 'detached' })
  }
  /** Unacknowledged input is sent again over the next connection. Beyond this limit, input is dropped with a bell. */
  let waiting: Input[] = []
  const say = (event: object): void => {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(event))
  }
  const type = (data: string): void => {
    if (waiting.length >= MAX_WAITING) return void stdout.write('\x07')
    const event: Input = { type: 'input', data, seq: typed.next() }
    waiting.push(event)
    say(event)
  }
  const onResize = (): void => say({ type: 'resize', cols: stdout.columns, rows: stdout.rows })
  const onOpen = (): void => {
    onResize()
    for (const event of waiting) say(event)
  }
  stdin.setRawMode(true)
  stdin.resume().on('data', onInput)
  stdout.on('resize', onResize)
  try {
    for (let tries = 0; ;) {
      socket = connect(target, id, at, viewer)
      const session = run(socket, {
        onOpen,
        seen(offset) {
          at = offset
          tries = 0
        },
        at: () => at,
        typed: (seq) => (waiting = waiting.filter((one) => one.seq > seq)),
      })
      const end = await Promise.race([session, detached.promise])
      socket.close()
      if (end !== 'lost') return end
      const wait = AGAIN_MS[Math.min(tries++, AGAIN_MS.length - 1)]!
      const outcome = await Promise.race([sleep(wait * (0.5 + Math.random())).then(() => null), detached.promise])
      if (outcome) return outcome
    }
  } finally {
    stdin.off('data', onInput).pause()
    stdout.off('resize', onResize)
    stdin.setRawMode(false)
  }
}

function connect({ origin, key, id: computer }: Target, id: string, from: number | null, viewer: string): WebSocket {
  const url = new URL(
    `/v1/computers/${computer}/terminals/${encodeURIComponent(id)}/attach`,
    origin.replace(/^http/, 'ws'),
  )
  url.searchParams.set('viewer', viewer)
  if (from !== null) url.searchParams.set('from', String(from))
  return new WebSocket(url, {
    headers: { authorization: `Bearer ${key}` },
    perMessageDeflate: false,
    handshakeTimeout: 15_000,
  })
}

interface Input {
  type: 'input'
  data: string
  seq: number
}
interface Session {
  onOpen(): void
  seen(offset: number): void
  at(): number | null
  /** Acknowledges input up to this number. */
  typed(seq: number): void
}

/** Runs one connection until the terminal ends, the server rejects it, or it is lost. */
function run(socket: WebSocket, { onOpen, seen, at, typed }: Session): Promise<End | 'lost'> {
  return new Promise((resolve) => {
    let alive = true
    const beat = setInterval(() => {
      if (!alive) return socket.terminate()
      alive = false
      socket.ping()
    }, PING_MS)
    socket.on('pong', () => void (alive = true))
    socket.once('open', onOpen)
    socket.on('unexpected-response', (_, response) => {
      const status = response.statusCode ?? 0
      response.resume()
      socket.terminate()
      resolve(
        status >= 500 || (at() !== null && AWAY.has(status))
          ? 'lost'
          : {
              type: 'refused',
              exit: exitFor(status),
              reason: `Can't open the terminal (${status}): it doesn't exist, or you don't have access.`,
            },
      )
    })
    socket.on('message', (data: Buffer, binary: boolean) => {
      alive = true
      if (binary) {
        process.stdout.write(data)
        seen((at() ?? 0) + data.length)
        return
      }
      const event = JSON.parse(data.toString()) as {
        type: string
        seq: number
        at: number
        data: string
        to: number
        exit_code: number | null
        signal: string | null
      }
      if (event.type === 'snapshot') {
        // Scrolls the current screen content into the scrollback first.
        process.stdout.write((at() === null ? '\n'.repeat(process.stdout.rows) : '') + CLEAR + event.data)
        seen(event.at)
      } else if (event.type === 'gap') seen(event.to)
      else if (event.type === 'typed') typed(event.seq)
      else if (event.type === 'ended') resolve({ type: 'ended', exit_code: event.exit_code, signal: event.signal })
    })
    socket.on('error', () => {})
    socket.once('close', (code, reason) => {
      clearInterval(beat)
      resolve(
        code === 4404
          ? { type: 'refused', exit: 'not_found', reason: reason.toString() || 'The terminal was closed.' }
          : 'lost',
      )
    })
  })
}
