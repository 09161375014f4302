/** Slow viewers never slow the program. */
import { randomBytes } from 'node:crypto'
import type { WebSocket } from 'ws'
import type { AskedStream } from '#daemon-protocol/link.ts'
import type { Context } from '#infra/context.ts'
import type { Input } from '#core/contract.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { CHANNEL, TerminalEvent } from '#daemon-protocol/operations.ts'
import type { attach as endpoint } from '../contract-terminals.ts'
import { incompleteBytes } from '../exec/capture.ts'
import { ByteCollector } from '../exec/byte-collector.ts'
import type { HasLinks } from '../link/links.ts'
import { lossesOf } from '../link/losses.ts'
import { MAX_SNAPSHOT_BYTES } from './actions.ts'
import { PendingInput } from './pending-input.ts'
import { readViewer } from './viewer.ts'
import { shortenBytes } from '#core/text/shorten.ts'

type Stream = AskedStream<'terminal.attach'>

/** Unsent bytes per viewer. Beyond it, the keeper sends a snapshot instead of the rest. */
const UNREAD_BYTES = 262_144
/** Codes from the application-defined range. */
const CLOSE = { ended: 1000, offline: 4409, gone: 4404, failed: 1011 } as const

/** Returns the socket's handler. Refuses if the terminal can't be reached. */
export async function openAttach(
  ctx: Context<HasLinks>,
  { id, terminal_id, from, viewer }: Input<typeof endpoint>,
): Promise<(socket: WebSocket) => void> {
  const { links } = ctx.engine
  const { accountId } = ctx.principal
  const who = `${accountId}:${viewer ?? newName()}`
  /** Identifies input without a number. */
  const here = `${accountId}:${newName()}`
  let count = 0
  let at = from ?? null
  const ask = (signal: AbortSignal): Promise<Stream> =>
    links.open(id, 'terminal.attach', { terminal_id, viewer: who, from: at }, { signal })
  let stream = await ask(ctx.signal)

  const pendingInput = new PendingInput(stream)

  async function follow(socket: WebSocket, resumeReading: () => void): Promise<void> {
    const losses = lossesOf(links, id, ctx)
    const handlers: ViewerHandlers = {
      onOffset: (offset) => (at = offset),
      onTyped(by, seq) {
        pendingInput.acknowledge(by, seq)
        resumeReading()
        return by === who
      },
    }
    for (let isLost = false; ; isLost = true) {
      // The size comes first. After that, a terminal may be silent for days.
      using limit = links.limit(id, ctx.signal, links.limits.answerMs)
      limit.signal.addEventListener('abort', () => stream.reset('it does not answer'), { once: true })
      try {
        if (isLost) pendingInput.resend((stream = await ask(limit.signal)))
        for await (const item of toViewer(stream, handlers)) {
          limit.rest()
          losses.over()
          socket.send(item)
          if (socket.bufferedAmount > UNREAD_BYTES) await drained(socket, ctx.signal)
        }
        await stream.output
        return socket.close(CLOSE.ended)
      } catch (error) {
        if (ctx.signal.aborted) return
        await losses.outlast(limit.reasonFor(error))
      }
    }
  }

  return (socket) => {
    const { resumeReading } = readViewer(socket, {
      say: (event) =>
        pendingInput.add(
          event.type === 'resize'
            ? event
            : event.seq === null
              ? { ...event, viewer: here, seq: count++ }
              : { ...event, viewer: who, seq: event.seq },
        ),
      isFull: () => pendingInput.isFull,
    })
    void follow(socket, resumeReading).catch((error: unknown) => {
      if (ctx.signal.aborted) return
      if (!(error instanceof Refusal)) ctx.log.error({ error }, 'an attached terminal failed')
      socket.close(...closeFor(error))
    })
    socket.once('close', () => stream.reset('the viewer left'))
  }
}

const newName = (): string => randomBytes(16).toString('hex')

const closeFor = (error: unknown): [number, string] => {
  if (!(error instanceof Refusal)) return [CLOSE.failed, 'the terminal cannot be followed']
  const silent = error.code === 'computer_offline' || error.code === 'timeout'
  const code = silent ? CLOSE.offline : error.code === 'not_found' ? CLOSE.gone : CLOSE.failed
  return [code, shortenBytes(error.message, 123)]
}

interface ViewerHandlers {
  onOffset(offset: number): void
  /** Returns whether the viewer gets an acknowledgment. */
  onTyped(viewer: string, seq: number): boolean
}

async function* toViewer(stream: Stream, { onOffset, onTyped }: ViewerHandlers): AsyncGenerator<string | Uint8Array> {
  let drawing: { at: number; remainingBytes: number; parts: ByteCollector } | null = null
  for await (const item of stream) {
    if (item.type === 'event') {
      const { data: event } = TerminalEvent.safeParse(item.event)
      // From a later version, or an untrusted daemon.
      if (event === undefined) continue
      if (event.type === 'typed') {
        const { type, viewer, seq } = event
        if (onTyped(viewer, seq)) yield JSON.stringify({ type, seq })
        continue
      }
      if (event.type !== 'snapshot') {
        yield JSON.stringify(event)
        continue
      }
      if (event.bytes > MAX_SNAPSHOT_BYTES)
        refuse('upstream_error', { message: 'The computer’s terminal screen is too large.' })
      drawing = { at: event.at, remainingBytes: event.bytes, parts: new ByteCollector() }
      if (event.bytes > 0) continue
    } else if (item.type === 'bytes') {
      if (item.channel !== CHANNEL.snapshot) {
        yield Uint8Array.from(item.bytes)
        onOffset(item.offset + item.bytes.length)
        continue
      }
      if (drawing === null) continue
      drawing.parts.add(item.bytes)
      drawing.remainingBytes -= item.bytes.length
      if (drawing.remainingBytes > 0) continue
    }
    if (drawing === null) continue
    const bytes = drawing.parts.bytes()
    // An incomplete character goes out as bytes.
    const incomplete = incompleteBytes(bytes)
    const data = bytes.subarray(0, bytes.length - incomplete).toString('utf8')
    yield JSON.stringify({ type: 'snapshot', data, at: drawing.at - incomplete })
    if (incomplete > 0) yield Uint8Array.from(bytes.subarray(bytes.length - incomplete))
    onOffset(drawing.at)
    drawing = null
  }
}

/** Resolves when the buffer is half empty or the viewer left. */
function drained(socket: WebSocket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (socket.bufferedAmount > UNREAD_BYTES / 2 && !signal.aborted && socket.readyState === socket.OPEN) return
      clearInterval(timer)
      resolve()
    }
    const timer = setInterval(look, 20)
  })
}
