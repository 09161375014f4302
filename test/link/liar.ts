import { once } from 'node:events'
import { WebSocket } from 'ws'
import { FINISHED, FRAME, type FrameType, decodeFrame, encodeFrame } from '#packages/mux/frames.ts'
import { hello } from './daemon.ts'

/** The replies for one stream: any JSON, or invalid text. */
export interface Replies {
  event(json: unknown): void
  end(json: unknown): void
  bytes(bytes: Uint8Array, offset?: number, channel?: number): void
  finish(): void
  credit(bytes: number): void
}
export type Lies = (request: { op: string; input: any }, says: Replies) => void

export interface Liar extends Disposable {
  /** Changes the replies from the next request on. */
  lies: Lies
  /** The link's close code. */
  closed: Promise<number>
}

/** A daemon with hand-written frames: valid framing, any content. */
export async function liarAt(origin: string, credential: string, lies: Lies): Promise<Liar> {
  const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/computers/link`, {
    headers: { authorization: `Bearer ${credential}` },
  })
  socket.on('error', () => {})
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  const liar: Liar = { lies, closed, [Symbol.dispose]: () => socket.terminate() }
  const say = (type: FrameType, stream: number, json: unknown): void =>
    socket.send(encodeFrame(type, 0, stream, 0, Buffer.from(typeof json === 'string' ? json : JSON.stringify(json))))
  const saysOn = (stream: number): Replies => ({
    event: (json) => say(FRAME.event, stream, json),
    end: (json) => say(FRAME.end, stream, json),
    bytes: (bytes, offset = 0, channel = 0) => socket.send(encodeFrame(FRAME.data, channel, stream, offset, bytes)),
    finish: () => socket.send(encodeFrame(FRAME.data, FINISHED, stream, 0)),
    credit(bytes) {
      const amount = Buffer.alloc(4)
      amount.writeUInt32BE(bytes)
      socket.send(encodeFrame(FRAME.credit, 0, stream, 0, amount))
    },
  })
  await once(socket, 'open')
  const greeted = Promise.withResolvers<void>()
  socket.on('message', (message: Buffer) => {
    const { type, stream, payload } = decodeFrame(message)
    if (type === FRAME.hello) greeted.resolve()
    if (type === FRAME.ping) socket.send(encodeFrame(FRAME.pong, 0, 0, decodeFrame(message).offset))
    if (type === FRAME.open) liar.lies(JSON.parse(payload.toString()), saysOn(stream))
  })
  say(FRAME.hello, 0, hello)
  await greeted.promise
  return liar
}
