import { once } from 'node:events'
import { type IncomingMessage, type Server, createServer } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import type { Reply, WholeRequest } from '../src/exchange.ts'
import { FastConnections } from '../src/connections.ts'

export const PATHS = new Set(['/one', '/two/three', '/stream', '/at-once', '/large'])

/** Larger than the kernel's socket buffers. */
export const LARGE = 40 << 20

/** Echoes the request; `/stream` in pieces, one per turn; `/at-once` as a stream that ends in its first turn. */
function answer(request: IncomingMessage | WholeRequest, body: Buffer, reply: Reply): void {
  const { method, url, headers } = request
  const echo = Buffer.from(JSON.stringify({ method, url, headers, body: body.toString('latin1') }))
  const head = ['x-one', 'ein\tWert ÿ', 'content-type', 'application/json']
  if (url!.startsWith('/stream')) {
    reply.writeHead(200, head)
    reply.write(echo)
    return void setImmediate(() => {
      reply.write('zwei ü')
      setImmediate(() => reply.end(body.length % 2 === 0 ? undefined : 'drei'))
    })
  }
  if (url!.startsWith('/at-once')) {
    reply.writeHead(200, head)
    reply.write(echo)
    return void reply.end()
  }
  if (url!.startsWith('/large')) {
    reply.writeHead(200, [...head, 'content-length', String(LARGE)])
    return void reply.end(Buffer.alloc(LARGE, 'x'))
  }
  reply.writeHead(method === 'POST' ? 200 : 404, [...head, 'content-length', String(echo.length)])
  if (body.length % 2 === 0) reply.end(echo.toString('latin1'), 'latin1')
  else reply.end(echo)
}

export interface Pair extends AsyncDisposable {
  fast: number
  connections: FastConnections
  bare: Server
  fronted: Server
}

const listen = async (server: Server): Promise<Server> => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

/** Node's server, and one with the fast path, with the same responses. */
export async function pair(slow?: (reply: Reply, request: WholeRequest) => void): Promise<Pair> {
  const full = (): Server =>
    createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => answer(request, Buffer.concat(parts), response))
    })
  const [bare, fronted] = await Promise.all([listen(full()), listen(full())])
  const [listener] = fronted.listeners('connection') as ((this: Server, socket: Socket) => void)[]
  const connections = new FastConnections({
    paths: PATHS,
    elsewhere: () => false,
    keepAliveSeconds: 65,
    handOver: (socket) => listener!.call(fronted, socket),
    answer(request, reply) {
      both.fast++
      if (slow) slow(reply, request)
      else answer(request, request.whole, reply)
    },
  })
  fronted.removeAllListeners('connection').on('connection', (socket: Socket) => connections.take(socket))
  const both: Pair = {
    fast: 0,
    connections,
    bare,
    fronted,
    async [Symbol.asyncDispose]() {
      connections.closeAll()
      for (const server of [bare, fronted]) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    },
  }
  return both
}

export const open = (server: Server): Socket =>
  connect((server.address() as AddressInfo).port, '127.0.0.1').setNoDelay()

export const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A pair whose fast path never answers automatically. */
export async function openHeldPair() {
  const replies: Reply[] = []
  const both = await pair((reply) => void replies.push(reply))
  return Object.assign(both, {
    open: () => open(both.fronted),
    async reply(n: number): Promise<Reply> {
      while (replies.length <= n) await turn()
      return replies[n]!
    },
  })
}

export const post = (path: string, body: string, more = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`
