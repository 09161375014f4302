/**
 * Connections between server processes, for operations that only the holder of a link can run. Each process listens on
 * the address in its row. Both ends prove that they know the instance's secret, which is in the database.
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
  /** `host:port` */
  address: string
  /** Runs an operation in another process. Throws `LinkLost` if it can't be reached. */
  open<O extends OperationName>(
    processId: Id,
    address: string,
    request: OperationRequest & { op: O },
  ): Promise<AskedStream<O>>
}

export interface PeerParts {
  engine: Pick<Engine, 'log' | 'postgres' | 'processId'>
  host: string
  /** Runs an operation for another process. */
  answer(request: OperationRequest, stream: Stream, call: { signal: AbortSignal }): Promise<object>
}

/** Calls per connection. More open another one, so that many calls of one caller don't delay others. */
const MAX_CALLS = 512

/** A connection to another process. */
interface Lane {
  mux: Promise<Mux>
  /** Null until it is connected. */
  opened: Mux | null
  /** Calls that wait for the connection. */
  waiting: number
}

export async function startPeers(parts: PeerParts): Promise<Peers> {
  const secret = await keptValue(parts.engine.postgres.db, 'peer_secret', randomBytes(32).toString('base64url'))
  const peers = new PeerServer(parts, secret)
  await peers.listen()
  return peers
}

class PeerServer implements Peers {
  readonly #parts: PeerParts
  readonly #secret: string
  readonly #server: Server
  #address = ''
  readonly #sockets = new Set<Socket>()
  readonly #lanesByProcess = new Map<Id, Set<Lane>>()

  constructor(parts: PeerParts, secret: string) {
    this.#parts = parts
    this.#secret = secret
    this.#server = createServer((socket) => this.#accept(socket))
    this.#server.maxConnections = 256
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) =>
      this.#server.once('error', reject).listen(0, this.#parts.host, resolve),
    )
    this.#server.unref()
    this.#address = `${this.#parts.host}:${(this.#server.address() as AddressInfo).port}`
  }

  get address(): string {
    return this.#address
  }

  async open<O extends OperationName>(
    processId: Id,
    address: string,
    request: OperationRequest & { op: O },
  ): Promise<AskedStream<O>> {
    const lane = this.#laneTo(processId, address)
    lane.waiting++
    try {
      return (await lane.mux).open(request)
    } finally {
      lane.waiting--
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #accept(socket: Socket): void {
    const { engine, answer } = this.#parts
    const self = engine.processId
    this.#track(socket)
    const ownNonce = nonce()
    let peerNonce: unknown
    const mux: Mux = overSocket(socket, {
      opens: 'odd',
      onHello: (hello) => {
        peerNonce = hello.nonce
        if (!isProof(hello.proof, this.#proofOf('asks', self, [ownNonce, peerNonce])))
          throw new Violation('the peer proves nothing')
        socket.setTimeout(0)
        keepAlive(mux)
      },
      answer: async (request, stream, call) =>
        request.op === PROVE
          ? { proof: this.#proofOf('answers', self, [ownNonce, peerNonce]) }
          : answer(request, stream, call),
      onFault: (error, request) =>
        engine.log.error({ error, op: request?.op }, 'what another process asked for failed'),
    })
    mux.hello({ process_id: self, nonce: ownNonce })
    // Closes the connection of a peer that doesn't identify itself.
    socket.setTimeout(CONNECT_MS, () => mux.close(CLOSE.violation, 'no HELLO came'))
  }

  #laneTo(processId: Id, address: string): Lane {
    const lanes = this.#lanesByProcess.get(processId) ?? new Set<Lane>()
    this.#lanesByProcess.set(processId, lanes)
    for (const lane of lanes) if (lane.waiting + (lane.opened?.streams ?? 0) < MAX_CALLS) return lane
    const forget = (): void => {
      lanes.delete(lane)
      if (lanes.size === 0 && this.#lanesByProcess.get(processId) === lanes) this.#lanesByProcess.delete(processId)
    }
    const lane: Lane = { mux: this.#connect(processId, address, () => forget()), opened: null, waiting: 0 }
    lanes.add(lane)
    lane.mux.then((mux) => (lane.opened = mux), forget)
    return lane
  }

  async #connect(processId: Id, address: string, onClose: () => void): Promise<Mux> {
    const portAt = address.lastIndexOf(':')
    const socket = connect(Number(address.slice(portAt + 1)), address.slice(0, portAt))
    this.#track(socket)
    const { promise, resolve, reject } = Promise.withResolvers<Mux>()
    const ownNonce = nonce()
    const late = setTimeout(() => mux.close(CLOSE.silent, 'the process does not answer'), CONNECT_MS)
    const mux: Mux = overSocket(socket, {
      opens: 'even',
      onHello: (hello) => {
        if (hello.process_id !== processId) throw new Violation('another process listens there')
        const nonces = [hello.nonce, ownNonce]
        mux.hello({ nonce: ownNonce, proof: this.#proofOf('asks', processId, nonces) })
        const output = mux.open({ op: PROVE as OperationName, input: {} }).output as Promise<{ proof?: unknown }>
        output.then(
          ({ proof }) => {
            if (!isProof(proof, this.#proofOf('answers', processId, nonces)))
              return mux.close(CLOSE.violation, 'the peer proves nothing')
            clearTimeout(late)
            keepAlive(mux)
            resolve(mux)
          },
          () => mux.close(CLOSE.violation, 'the peer proves nothing'),
        )
      },
      answer: () => refuse('not_found'),
      onFault: (error) => this.#parts.engine.log.error({ error }, 'what another process said could not be taken'),
      onClose(_code, reason) {
        clearTimeout(late)
        onClose()
        reject(new LinkLost(reason))
      },
    })
    return promise
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.setNoDelay(true).once('close', () => this.#sockets.delete(socket))
  }

  #proofOf(role: 'asks' | 'answers', processId: Id, nonces: readonly unknown[]): string {
    return createHmac('sha256', this.#secret)
      .update(JSON.stringify([role, processId, ...nonces]))
      .digest('base64url')
  }
}

const nonce = (): string => randomBytes(16).toString('base64url')

function isProof(value: unknown, expected: string): boolean {
  const bytes = Buffer.from(typeof value === 'string' ? value : '')
  return bytes.length === expected.length && timingSafeEqual(bytes, Buffer.from(expected))
}
