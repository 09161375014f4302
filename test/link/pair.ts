import { LARGEST_FRAME } from '#daemon-protocol/frames.ts'
import { type OperationRequest, Mux, type Pipe } from '#daemon-protocol/mux.ts'
import type { Stream } from '#daemon-protocol/stream.ts'

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

export type Answerer = (request: OperationRequest, stream: Stream, call: { signal: AbortSignal }) => Promise<object>

export interface HeldLink {
  server: Mux
  daemon: Mux
  toDaemon: HeldPipe
  toServer: HeldPipe
  /** Moves one frame. False: none was waiting. */
  step(direction: 'toDaemon' | 'toServer'): boolean
  /** Moves frames until none are left. */
  settle(): Promise<void>
}

const nobody: Answerer = () => Promise.resolve({})

/** Two ends of a link, connected by hand. */
export function heldLink(answers: { daemon?: Answerer; server?: Answerer } = {}): HeldLink {
  const toDaemon = new HeldPipe()
  const toServer = new HeldPipe()
  const server = new Mux(toDaemon, { opens: 'even', onHello() {}, answer: answers.server ?? nobody })
  const daemon = new Mux(toServer, { opens: 'odd', onHello() {}, answer: answers.daemon ?? nobody })
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
