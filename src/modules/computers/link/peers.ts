/**
 * Server processes ask each other for what only the holder of a link can do. Each listens on an address of its own, told
 * in its row; both ends of a connection prove that they know the secret of the instance, which is a row of the database.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net'
import { type AskedStream, Mux, type OperationRequest, overSocket } from '#daemon-protocol/link.ts'
import type { Engine } from '#infra/context.ts'
import { keptValue } from '#infra/processes/instance.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { Violation } from '#packages/mux/frames.ts'
import { keepAlive } from '#packages/mux/heartbeat.ts'
import { CLOSE } from '#packages/mux/mux.ts'
import type { OperationName } from '#daemon-protocol/operations.ts'
import { LinkLost, type Stream } from '#packages/mux/stream.ts'

const CONNECT_MS = 3_000
const PROVE = 'peer.prove'

export interface Peers extends AsyncDisposable {
  /** The address: `host:port`. */
  address: string
  /** Asks another process. Throws `LinkLost` where it cannot be reached. */
  open<O extends OperationName>(
    processId: Id,
    address: string,
    asked: OperationRequest & { op: O },
  ): Promise<AskedStream<O>>
}

export interface PeerParts {
  engine: Pick<Engine, 'log' | 'postgres' | 'processId'>
  host: string
  /** Does something that another process asks for. */
  answer(asked: OperationRequest, stream: Stream, call: { signal: AbortSignal }): Promise<object>
}

/**
 * The most calls on one connection: then another one is made, so that one caller's many never keep the others waiting.
 */
const MOST_CALLS = 512

/** A connection to another process. */
interface Lane {
  mux: Promise<Mux>
  /** The connection, once it stands. */
  opened: Mux | null
  /** The number of calls that wait for it to stand. */
  waiting: number
}

export async function startPeers({ engine, host, answer }: PeerParts): Promise<Peers> {
  const secret = await keptValue(engine.postgres.db, 'peer_secret', randomBytes(32).toString('base64url'))
  const prove = (role: 'asks' | 'answers', processId: Id, nonces: readonly unknown[]): string =>
    createHmac('sha256', secret)
      .update(JSON.stringify([role, processId, ...nonces]))
      .digest('base64url')
  const self = engine.processId
  const sockets = new Set<Socket>()
  const known = new Map<Id, Set<Lane>>()

  const server: Server = createServer((socket) => {
    track(socket)
    const mine = nonce()
    let theirs: unknown
    const mux: Mux = overSocket(socket, {
      opens: 'odd',
      onHello(hello) {
        theirs = hello.nonce
        if (!same(hello.proof, prove('asks', self, [mine, theirs]))) throw new Violation('the peer proves nothing')
        socket.setTimeout(0)
        keepAlive(mux)
      },
      async answer(asked, stream, call) {
        return asked.op === PROVE ? { proof: prove('answers', self, [mine, theirs]) } : answer(asked, stream, call)
      },
      onFault: (error, asked) => engine.log.error({ error, op: asked?.op }, 'what another process asked for failed'),
    })
    mux.hello({ process_id: self, nonce: mine })
    // The other end does not say who it is.
    socket.setTimeout(CONNECT_MS, () => mux.close(CLOSE.violation, 'no HELLO came'))
  })
  server.maxConnections = 256

  function track(socket: Socket): void {
    sockets.add(socket)
    socket.setNoDelay(true).once('close', () => sockets.delete(socket))
  }

  function laneTo(processId: Id, address: string): Lane {
    const lanes = known.get(processId) ?? new Set<Lane>()
    known.set(processId, lanes)
    for (const lane of lanes) if (lane.waiting + (lane.opened?.streams ?? 0) < MOST_CALLS) return lane
    const forget = (): void => {
      lanes.delete(lane)
      if (lanes.size === 0 && known.get(processId) === lanes) known.delete(processId)
    }
    const lane: Lane = { mux: connectTo(processId, address, () => forget()), opened: null, waiting: 0 }
    lanes.add(lane)
    lane.mux.then((mux) => (lane.opened = mux), forget)
    return lane
  }

  async function connectTo(processId: Id, address: string, gone: () => void): Promise<Mux> {
    const at = address.lastIndexOf(':')
    const socket = connect(Number(address.slice(at + 1)), address.slice(0, at))
    track(socket)
    const { promise, resolve, reject } = Promise.withResolvers<Mux>()
    const mine = nonce()
    const late = setTimeout(() => mux.close(CLOSE.silent, 'the process does not answer'), CONNECT_MS)
    const mux: Mux = overSocket(socket, {
      opens: 'even',
      onHello(hello) {
        if (hello.process_id !== processId) throw new Violation('another process listens there')
        mux.hello({ nonce: mine, proof: prove('asks', processId, [hello.nonce, mine]) })
        const proof = mux.open({ op: PROVE as OperationName, input: {} }).output as Promise<unknown>
        proof.then(
          (answered) => {
            const proven = same(
              (answered as { proof?: unknown }).proof,
              prove('answers', processId, [hello.nonce, mine]),
            )
            if (!proven) return mux.close(CLOSE.violation, 'the peer proves nothing')
            clearTimeout(late)
            keepAlive(mux)
            resolve(mux)
          },
          () => mux.close(CLOSE.violation, 'the peer proves nothing'),
        )
      },
      answer: () => refuse('not_found'),
      onFault: (error) => engine.log.error({ error }, 'what another process said could not be taken'),
      onClose(_code, reason) {
        clearTimeout(late)
        gone()
        reject(new LinkLost(reason))
      },
    })
    return promise
  }

  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, host, resolve))
  server.unref()
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    async open(processId, address, asked) {
      const lane = laneTo(processId, address)
      lane.waiting++
      try {
        return (await lane.mux).open(asked)
      } finally {
        lane.waiting--
      }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const nonce = (): string => randomBytes(16).toString('base64url')

function same(given: unknown, wanted: string): boolean {
  const bytes = Buffer.from(typeof given === 'string' ? given : '')
  return bytes.length === wanted.length && timingSafeEqual(bytes, Buffer.from(wanted))
}
