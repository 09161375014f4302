import type { WebSocket } from 'ws'
import { CLOSE, Mux, type MuxOptions } from './mux.ts'
import { shortenBytes } from '#core/text/shorten.ts'

/** How long the peer may take to close. */
const CLOSING_MS = 2_000
/** A close frame has a code of 2 bytes and a reason of up to 123 (RFC 6455, 5.5). */
const MOST_REASON = 123

/** A link over a WebSocket: one binary message per frame. */
export function overWebSocket(socket: WebSocket, options: MuxOptions): Mux {
  const mux = new Mux(
    {
      send: (frame, sent) =>
        socket.send(frame, () => {
          sent?.()
          mux.flush()
        }),
      get bufferedAmount() {
        return socket.bufferedAmount
      },
      close(code, reason) {
        socket.close(code, shortenBytes(reason, MOST_REASON))
        setTimeout(() => socket.terminate(), CLOSING_MS).unref()
      },
    },
    options,
  )
  socket.on('message', (message, isBinary) => {
    if (isBinary) mux.receive(message as Buffer)
    else mux.close(CLOSE.violation, 'a message is not binary')
  })
  socket.on('error', () => {}).on('close', (code, reason) => mux.lost(code, reason.toString() || undefined))
  return mux
}
