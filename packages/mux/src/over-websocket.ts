import type { WebSocket } from 'ws'
import { CLOSE, type Mux, type Pipe } from './mux.ts'
import { shortenedBytes } from './frames.ts'

/** How long the peer may take to close. */
const CLOSING_MS = 2_000
/** A close frame has a code of 2 bytes and a reason of up to 123 (RFC 6455, 5.5). */
const MAX_REASON = 123

/** A link over a WebSocket: one binary message per frame. */
export function overWebSocket<M extends Mux>(socket: WebSocket, create: (pipe: Pipe) => M): M {
  const mux: M = create({
    send: (frame, sent) =>
      socket.send(frame, () => {
        sent?.()
        mux.flush()
      }),
    get bufferedAmount() {
      return socket.bufferedAmount
    },
    close(code, reason) {
      socket.close(code, shortenedBytes(reason, MAX_REASON))
      setTimeout(() => socket.terminate(), CLOSING_MS).unref()
    },
  })
  socket.on('message', (message, isBinary) => {
    if (isBinary) mux.receive(message as Buffer)
    else mux.close(CLOSE.violation, 'a message is not binary')
  })
  socket.on('error', () => {}).on('close', (code, reason) => mux.lost(code, reason.toString() || undefined))
  return mux
}
