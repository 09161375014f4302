import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { CallerSocket } from '#infra/caller-socket.ts'
import type { Context } from '#infra/context.ts'
import { scopeOf } from '#core/access.ts'
import { refuse } from '#core/errors.ts'
import type { UpgradeMount } from '#core/http/exchange.ts'
import type { Id } from '#core/ids.ts'
import { type Entry, inputSchemas } from '#core/registry.ts'
import { admit, limitOf, readCredential } from '../admit.ts'
import type { Entrance } from '../entrance.ts'
import { permitNow } from '../invoke.ts'
import { readInput } from '../rest/input.ts'
import { createRouter } from '../rest/router.ts'
import { Watch } from '../watch.ts'

const BEAT_MS = 15_000
const SILENT_BEATS = 3
const LARGEST_MESSAGE = 1 << 20

export interface CallerSocketParts extends Entrance {
  closing(): AbortSignal
  sockets: readonly CallerSocket[]
}

export function callerSockets(parts: CallerSocketParts): UpgradeMount {
  const { line, authority, limits, versions, origins, metrics, closing, engine } = parts
  const router = createRouter(
    parts.sockets.map((socket) => ({
      method: 'GET',
      path: `/v1${socket.endpoint.path}`,
      greedy: false,
      to: { entry: entryOf(socket), socket },
    })),
  )
  const handshake = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: LARGEST_MESSAGE })

  async function upgrade(request: IncomingMessage, stream: Duplex, head: Buffer, requestId: Id): Promise<void> {
    const url = request.url!
    const mark = url.indexOf('?')
    const match = router.find(mark < 0 ? url : url.slice(0, mark))!
    const { entry, socket: callerSocket } = match.methods.get('GET')!
    const { headers, socket: connection } = request
    const search = mark < 0 ? '' : url.slice(mark + 1)
    const ticket = callerSocket.redeem ? new URLSearchParams(search).get('ticket') : null
    const credential =
      ticket === null
        ? readCredential(headers, origins.cookieName)
        : await callerSocket.redeem!(engine, match.values, ticket)
    // Browsers never send a ticket on their own, so it needs no cross-site check.
    if (typeof credential !== 'string' && ticket === null) {
      origins.checkHost(request)
      if (credential !== null) origins.checkCrossSite(request)
    }
    using resources = new DisposableStack()
    let version = versions.newest
    const principal = await admit(
      { authority, limits },
      credential,
      { limit: limitOf(entry.endpoint), scope: scopeOf(entry.endpoint.access) },
      {
        connection,
        onEnter: (flight) => void resources.use(flight),
        onCount(_rate, { credential: current }) {
          const requestedVersion = headers['x-service-version']
          if (requestedVersion !== undefined) version = versions.check(String(requestedVersion))
          else if (current.kind === 'key') version = current.version
        },
      },
    )
    const disconnect = new AbortController()
    resources.defer(() => disconnect.abort())
    stream.once('close', () => disconnect.abort())
    const start = { principal, requestId, version, signal: disconnect.signal, caller: origins.callerOf(request) }
    const ctx = line.context(start)
    const input = await readInput(ctx, { entry, values: match.values, request, search, resources }, versions)
    await permitNow(ctx, entry, input)
    start.principal = ctx.principal
    const speak = await callerSocket.open(ctx, input)
    if (disconnect.signal.aborted || closing().aborted) refuse('shutting_down', { headers: { 'retry-after': '1' } })
    const watchedCall = { start, entry, input, credential, connection }
    const life = resources.move()
    stream.once('close', () => life.dispose())
    handshake.handleUpgrade(request, stream, head, (socket) => {
      metrics.request(entry.name, 101, 0)
      const watch = new Watch(authority, line, watchedCall, {
        close: () => socket.close(1008, 'you no longer have access'),
        onPermitted: async () => {},
      })
      const restart = () => socket.close(1012, 'the server is restarting')
      const end = closing()
      end.addEventListener('abort', restart)
      socket.on('error', (error) => engine.log.debug({ error, request_id: requestId }, 'a socket of a caller broke'))
      socket.once('close', () => {
        end.removeEventListener('abort', restart)
        watch[Symbol.dispose]()
      })
      keepAlive(socket)
      speak(socket)
    })
  }

  return { owns: (path) => router.find(path) !== null, upgrade }
}

const entryOf = ({ name, endpoint, finder }: CallerSocket): Entry<Context> => ({
  name,
  verb: name.split('.')[1]!,
  area: { name: name.split('.')[0]!, title: '', summary: '', endpoints: {} },
  endpoint,
  handle: () => {},
  finder,
  ...inputSchemas(endpoint),
  emptyQuery: null,
})

function keepAlive(socket: WebSocket): void {
  let silent = 0
  const onHeard = () => (silent = 0)
  socket.on('pong', onHeard).on('message', onHeard).on('ping', onHeard)
  const timer = setInterval(() => {
    if (++silent > SILENT_BEATS) return socket.terminate()
    socket.ping()
  }, BEAT_MS).unref()
  socket.once('close', () => clearInterval(timer))
}
