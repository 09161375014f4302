/**
 * The far end of a link under measurement: `far.ts mux|ws`. It takes bytes, sends bytes and gives back what it gets, over
 * the frames of this project or over a bare WebSocket.
 */
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { overWebSocket } from '../../src/daemon-protocol/link.ts'
import { LARGEST_FRAME } from '../../packages/mux/src/frames.ts'
import type { Stream } from '../../packages/mux/src/stream.ts'

const CHUNK = Buffer.alloc(65_536, 7)
const server = new WebSocketServer({
  port: 0,
  host: '127.0.0.1',
  perMessageDeflate: false,
  maxPayload: LARGEST_FRAME,
  skipUTF8Validation: true,
})
server.on('connection', process.argv[2] === 'mux' ? withStreams : bare)
server.on('listening', () => process.stdout.write(`ready ${(server.address() as AddressInfo).port}\n`))

function withStreams(socket: WebSocket): void {
  const mux = overWebSocket(socket, {
    opens: 'even',
    onHello: () => mux.hello({}),
    async answer({ input }, stream: Stream) {
      const { does, bytes } = input as { does: string; bytes: number }
      let came = 0
      if (does === 'source') for (let sent = 0; sent < bytes; sent += CHUNK.length) await stream.write(CHUNK)
      else
        for await (const item of stream) {
          if (item.type === 'finished') break
          if (item.type !== 'bytes') continue
          came += item.bytes.length
          if (does === 'echo') await stream.write(item.bytes)
        }
      return { came }
    },
  })
}

/** Text asks for bytes or for how many came; a short message comes back. */
function bare(socket: WebSocket): void {
  let came = 0
  socket.on('message', (message: Buffer, isBinary) => {
    if (isBinary && message.length < 1_024) return socket.send(message)
    if (isBinary) return void (came += message.length)
    const bytes = Number(String(message))
    if (bytes === 0) {
      socket.send(String(came))
      came = 0
    } else source(socket, bytes)
  })
}

function source(socket: WebSocket, left: number): void {
  if (left <= 0) return socket.send('done')
  // As many as Node's own streams would let wait.
  if (socket.bufferedAmount > 262_144) return socket.send(CHUNK, () => source(socket, left - CHUNK.length))
  socket.send(CHUNK)
  if (socket.bufferedAmount === 0) setImmediate(source, socket, left - CHUNK.length)
  else source(socket, left - CHUNK.length)
}
