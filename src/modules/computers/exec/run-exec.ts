/** Runs a command over a link that may be lost and restored meanwhile. */
import { z } from 'zod'
import type { AskedStream } from '#daemon-protocol/link.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { iso } from '#core/time.ts'
import { CHANNEL, type Input, type Output } from '#daemon-protocol/operations.ts'
import type { Links } from '../link/links.ts'
import { lossesOf } from '../link/losses.ts'
import { timeOf } from './exec-time.ts'

export interface Command {
  /** Identifies the command: a later call with the same key continues it. */
  key: string
  argv: readonly string[]
  cwd: string | null
  env: Record<string, string>
  user: string | null
  timeout_ms: number | null
  stdin: Uint8Array | null
  /** More input follows `stdin`, sent with `writeStdin`. */
  stdin_open?: boolean
}

export type OutputChannel = 'stdout' | 'stderr'
export type ExecPart =
  | { type: 'started'; pid: number | null }
  /** `offset` is after the end of the previous bytes if the computer discarded output. */
  | { type: 'bytes'; channel: OutputChannel; offset: number; bytes: Uint8Array }
  | { type: 'ended'; end: Output<'exec'> }

export interface RunMore {
  /** Ends the command. */
  signal: AbortSignal
  /** How long to wait for a lost computer. */
  patienceMs?: number
  /** If it fires before `signal`, the command continues without this call. A later call with its key follows it. */
  leaving?: AbortSignal
  /**
   * A server that died may have started the command. The wait for the computer counts from then, as if the link had been
   * lost.
   */
  underWay?: boolean
  /** Only follows a command that another call started. Without one, refuses with `not_found`. */
  joins?: true
}

/** The first event of a command. Not trusted: a daemon may send anything. */
const Started = z.object({
  type: z.literal('started'),
  pid: z.number().int().nullable().default(null),
  stdin: z.number().int().min(0).default(0),
})

/** How long to wait for a lost link before its caller gets an error. */
const PATIENCE_MS = 60_000
const KILL_MS = 60_000
/** After the longest wait plus this time, the computer ends the command, because its caller must have died. */
const ALONE_MS = 60_000

/**
 * Runs a command and yields its output as it arrives, with backpressure. The last part is its end; throws if there is
 * none. If the reader stops or `signal` fires, the command and its children are killed.
 */
export async function* runExec(
  links: Links,
  computerId: Id,
  command: Command,
  { signal, patienceMs = PATIENCE_MS, leaving, underWay = false, joins }: RunMore,
): AsyncGenerator<ExecPart, void> {
  const from = { stdout: 0, stderr: 0 }
  let begun = false
  let over = false
  let stream: AskedStream<'exec'> | null = null
  /** The stream that got the stdin. */
  let fed: AskedStream<'exec'> | null = null
  await using time = timeOf(links, computerId, command, { signal, leaving, joins })
  const waiting = leaving ? AbortSignal.any([time.signal, leaving]) : time.signal
  const losses = lossesOf(links, computerId, { signal: waiting, patienceMs, underWay, gone: lost })
  const leave = (): void => {
    if (!signal.aborted) stream?.lose('the server stops')
  }
  leaving?.addEventListener('abort', leave)
  try {
    for (;;) {
      try {
        const input = { ...inputOf(command, from), alone_ms: patienceMs + ALONE_MS, ...(joins && { joins }) }
        stream = await links.open(computerId, 'exec', input, { signal: time.signal, movable: leaving !== undefined })
        if (leaving) time.goesOn()
        for await (const item of stream) {
          losses.over()
          if (item.type === 'event') {
            const { data: started } = Started.safeParse(item.event)
            if (started === undefined || fed === stream) continue
            fed = stream
            time.begins()
            if (!joins) void feed(stream, command, started.stdin)
            time.rests()
            if (!begun) yield { type: 'started', pid: started.pid }
            begun = true
            time.goesOn()
          } else if (item.type === 'bytes') {
            const channel = channelOf(item.channel)
            from[channel] = item.offset + item.bytes.length
            time.rests()
            yield { type: 'bytes', channel, offset: item.offset, bytes: item.bytes }
            time.goesOn()
          }
        }
        const end = await stream.output
        over = true
        return yield { type: 'ended', end }
      } catch (error) {
        if (time.signal.aborted) throw time.signal.reason instanceof Refusal ? time.signal.reason : error
        if (leaving?.aborted) throw error
        // A background command outlasts a computer that is offline for days.
        if (leaving) time.rests()
        await losses.outlast(error).catch((why: unknown) => {
          // A refused command never started, or has ended.
          over = why === error && error instanceof Refusal
          throw why
        })
      }
    }
  } finally {
    leaving?.removeEventListener('abort', leave)
    const isDetached = leaving?.aborted === true && !signal.aborted
    if (!over && stream !== null && (joins || !isDetached)) {
      stream.reset('the caller left')
      if (!joins) void kill(links, computerId, command.key, Math.min(patienceMs, PATIENCE_MS)).catch(() => {})
    }
  }
}

/**
 * Kills an abandoned command with its children now, or as soon as its computer reconnects. Later, the computer kills it
 * itself, because it has no follower. For background commands see `background/ending.ts`.
 */
async function kill(links: Links, computerId: Id, key: string, waitMs: number): Promise<void> {
  if (await links.online(computerId, waitMs))
    await links.ask(computerId, 'exec.kill', { key, signal: null }, { signal: AbortSignal.timeout(KILL_MS) })
}

const channelOf = (channel: number): OutputChannel => (channel === CHANNEL.stderr ? 'stderr' : 'stdout')

const lost = (lostAt: Date): never =>
  refuse('computer_offline', {
    message:
      'The connection to the computer was lost while the command was running and wasn’t restored. The command is terminated when the computer reconnects.',
    details: { last_seen_at: iso(lostAt) },
  })

const inputOf = (
  { stdin, stdin_open, argv, ...command }: Command,
  from: { stdout: number; stderr: number },
): Input<'exec'> => ({
  ...command,
  argv: [...argv],
  stdin: stdin !== null || stdin_open === true,
  from: { ...from },
})

async function feed(
  stream: AskedStream<'exec'>,
  { stdin, stdin_open = false }: Command,
  arrived: number,
): Promise<void> {
  try {
    if (stdin !== null && arrived < stdin.length) await stream.write(stdin.subarray(arrived), CHANNEL.stdin, arrived)
    if (stdin !== null && !stdin_open) stream.finish()
  } catch {
    // The command ended before reading everything, or the link was lost. The stream's reader gets that error.
  }
}
