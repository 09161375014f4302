import { once } from 'node:events'
import { type AddressInfo, type Socket, createServer } from 'node:net'

/** A request from a socket, complete. */
export interface RawAsked {
  method: string
  /** Path and query. */
  path: string
  /** Lower-case names. */
  headers: Record<string, string>
  body: string
}

/** Default: 200 and JSON. */
export interface RawAnswer {
  status?: number
  type?: string
  headers?: Record<string, string>
  body: string
}

/** A loopback server that writes its answers itself, byte by byte if needed. */
export interface Raw extends AsyncDisposable {
  origin: string
  /** `127.0.0.1:port`, as in `UK_FETCH_ALLOW`. */
  host: string
  /** All connections so far. */
  connections: number
  asked: RawAsked[]
}

/** Reads requests with a length or without a body, like ours, and leaves the answer to `answer`. */
export async function startRaw(answer: (request: RawAsked, socket: Socket) => void): Promise<Raw> {
  const sockets = new Set<Socket>()
  const state = { connections: 0, asked: [] as RawAsked[] }
  const server = createServer((socket) => {
    state.connections++
    sockets.add(socket)
    let unread = Buffer.alloc(0)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.on('data', (piece) => {
      unread = Buffer.concat([unread, piece])
      for (let next = requestIn(unread); next !== null; next = requestIn(unread)) {
        unread = unread.subarray(next.bytes)
        state.asked.push(next.asked)
        answer(next.asked, socket)
      }
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(state, {
    origin: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  })
}

function requestIn(bytes: Buffer): { asked: RawAsked; bytes: number } | null {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return null
  const [line = '', ...fields] = bytes.toString('latin1', 0, end).split('\r\n')
  const [method = '', path = ''] = line.split(' ')
  const headers = Object.fromEntries(
    fields.map((field) => {
      const colon = field.indexOf(':')
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()]
    }),
  )
  const size = end + 4 + Number(headers['content-length'] ?? 0)
  if (bytes.length < size) return null
  return { asked: { method, path, headers, body: bytes.toString('utf8', end + 4, size) }, bytes: size }
}

export const writeAnswer = (socket: Socket, answer: RawAnswer): boolean => socket.write(writtenAnswer(answer))

/** Formats an answer with its length. */
export function writtenAnswer({ status = 200, type = 'application/json', headers = {}, body }: RawAnswer): string {
  const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} X\r\ncontent-type: ${type}\r\n${more.join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
