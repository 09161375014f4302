import { LARGEST_FRAME } from '../src/frames.ts'
import { type LinkErrors, Mux, type MuxOptions, type Pipe, type Request } from '../src/mux.ts'
import type { Stream } from '../src/stream.ts'

/** An in-memory pipe whose frames are moved by hand. */
export class HeldPipe implements Pipe {
  readonly frames: Buffer[] = []
  bufferedAmount = 0
  closed: { code: number; reason: string } | null = null
  send(frame: Buffer): void {
    if (frame.length > LARGEST_FRAME) throw new Error('a frame is too large')
    this.frames.push(frame)
    this.bufferedAmount += frame.length
  }
  close(code: number, reason: string): void {
    this.closed = { code, reason }
  }
  /** Removes the oldest frame. */
  leave(): Buffer | undefined {
    const frame = this.frames.shift()
    this.bufferedAmount -= frame?.length ?? 0
    return frame
  }
}

export type Answerer = (request: Request, stream: Stream, call: { signal: AbortSignal }) => Promise<object>

export class CodedError extends Error {
  readonly code: string
  constructor(code: string, message = code) {
    super(message)
    this.code = code
  }
}

export const errors: LinkErrors = {
  toJson: (error) =>
    error instanceof CodedError ? { code: error.code, message: error.message } : { code: 'internal_error' },
  fromJson: ({ code, message }) => new CodedError(String(code), String(message ?? code)),
  isExpected: (error) => error instanceof CodedError,
  tooManyStreams: () => new CodedError('too_many_streams'),
  tooLarge: () => new CodedError('too_large'),
}

export interface HeldLink<M extends Mux = Mux> {
  server: M
  daemon: M
  toDaemon: HeldPipe
  toServer: HeldPipe
  /** Moves one frame. False: none was waiting. */
  step(direction: 'toDaemon' | 'toServer'): boolean
  /** Moves frames until none are left. */
  settle(): Promise<void>
}

const nobody: Answerer = () => Promise.resolve({})

/** Two ends of a link, connected by hand. */
export const heldLink = (answers: Answers = {}): HeldLink =>
  heldLinkOf((pipe, options) => new Mux(pipe, { ...options, errors }), answers)

export interface Answers {
  daemon?: Answerer
  server?: Answerer
}

export function heldLinkOf<M extends Mux>(
  create: (pipe: Pipe, options: Omit<MuxOptions, 'errors'>) => M,
  answers: Answers = {},
): HeldLink<M> {
  const toDaemon = new HeldPipe()
  const toServer = new HeldPipe()
  const server = create(toDaemon, { opens: 'even', onHello() {}, answer: answers.server ?? nobody })
  const daemon = create(toServer, { opens: 'odd', onHello() {}, answer: answers.daemon ?? nobody })
  const step = (direction: 'toDaemon' | 'toServer'): boolean => {
    const [pipe, from, to] = direction === 'toDaemon' ? [toDaemon, server, daemon] : [toServer, daemon, server]
    const frame = pipe.leave()
    if (frame === undefined) {
      if (pipe.closed !== null) to.lost()
      return false
    }
    to.receive(frame)
    from.flush()
    return true
  }
  daemon.hello({ who: 'daemon' })
  server.hello({ who: 'server' })
  step('toDaemon')
  step('toServer')
  return {
    server,
    daemon,
    toDaemon,
    toServer,
    step,
    async settle() {
      for (let idle = 0; idle < 3;) {
        const hasMoved = step('toDaemon') || step('toServer')
        idle = hasMoved ? 0 : idle + 1
        await new Promise(setImmediate)
      }
    },
  }
}
