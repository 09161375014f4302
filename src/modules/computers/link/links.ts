import type { AskedStream, OperationRequest } from '#daemon-protocol/link.ts'
import type { Engine } from '#infra/context.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { SILENT } from '#packages/mux/heartbeat.ts'
import { type Input, type OperationName, type Output, operations } from '#daemon-protocol/operations.ts'
import { relay } from '#packages/mux/relay.ts'
import { LinkLost, StreamReset } from '#packages/mux/stream.ts'
import {
  LOOKS,
  NEVER_WAITS,
  ONCE,
  TELLS,
  USE_LIMITS,
  type UseLimit,
  type UseLimits,
  answerMsOf,
  silentRefusal,
  startLimit,
} from './limits.ts'
import { LiveLinks, withOutput } from './live-links.ts'
import { lossesOf } from './losses.ts'
import { COMES_BACK_MS, comesWithin, offline } from './offline.ts'
import { type Peers, startPeers } from './peers.ts'
import { type Place, findPlace } from './state.ts'

/** Reaches computers through whichever process of the instance holds their links. */
export interface Links {
  /**
   * Runs an operation and returns its output; bytes are dropped. Waits for a computer that is starting or lost its link
   * just now, then refuses with 409 `computer_offline`. If the link breaks, a repeatable operation is retried once the
   * computer is back, any other is 503 `interrupted`. After `withinMs` (default: the operation's limit in `limits.ts`) it
   * refuses with 504 `timeout`, or 409 if the computer is away.
   */
  ask<O extends OperationName>(
    computerId: Id,
    op: O,
    input: Input<O>,
    more: { signal: AbortSignal; withinMs?: number },
  ): Promise<Output<O>>
  /** Starts a limit for a call that uses `open` and reports progress itself. */
  limit(computerId: Id, signal: AbortSignal, ms: number): UseLimit
  readonly limits: UseLimits
  /**
   * Opens a stream, which the signal resets. On `LinkLost` the caller opens it again with its key and offsets. A stopping
   * server doesn't wait for a `movable` stream, which continues over another link.
   */
  open<O extends OperationName>(
    computerId: Id,
    op: O,
    input: Input<O>,
    more: { signal: AbortSignal; movable?: boolean },
  ): Promise<AskedStream<O>>
  /** Whether the computer is linked to any process within `waitMs`. Throws the signal's reason. */
  online(computerId: Id, waitMs: number, signal?: AbortSignal): Promise<boolean>
  /** The computers whose links this process holds. */
  held(): Id[]
}

export interface HasLinks {
  links: Links
}

/** The time to wait for a computer that just lost its link. */
const BACK_MS = 30_000
/** Pokes can be lost, so the database is polled as well. */
const LOOK_MS = 1_000
/** The time between two attempts to reach the process that holds a link. */
const RETRY_MS = 250

type Elsewhere = Place & { processId: Id; peer: string }

export interface RunningLinks extends Links, AsyncDisposable {
  live: LiveLinks
  /** The address at which this process listens for the others. */
  peer: string
}

/** Bytes accepted from an operation whose answer has none. */
const MAX_STRAY_BYTES = 65_536

/** `limits` replaces some of the default limits. */
export async function startLinks(engine: Engine, limits: Partial<UseLimits> = {}): Promise<RunningLinks> {
  const live = new LiveLinks(engine)
  const peers = await startPeers({
    engine,
    host: engine.config.peerHost,
    answer(request, stream, { signal }) {
      const onward = openHere(live, request)
      // The other process has looked up where the link is, and it was here a moment ago.
      if (onward === null) throw new LinkLost('the link has gone elsewhere')
      return relay(stream, onward, signal)
    },
  })
  return new LinkRouter(engine, { ...USE_LIMITS, ...limits }, live, peers)
}

class LinkRouter implements RunningLinks {
  readonly limits: UseLimits
  readonly live: LiveLinks
  readonly peer: string
  readonly #engine: Engine
  readonly #peers: Peers
  readonly #startedAt = performance.now()

  constructor(engine: Engine, limits: UseLimits, live: LiveLinks, peers: Peers) {
    this.#engine = engine
    this.limits = limits
    this.live = live
    this.#peers = peers
    this.peer = peers.address
  }

  held(): Id[] {
    return this.live.held()
  }

  async open<O extends OperationName>(
    computerId: Id,
    op: O,
    input: Input<O>,
    { signal, movable = false }: { signal: AbortSignal; movable?: boolean },
  ): Promise<AskedStream<O>> {
    signal.throwIfAborted()
    const stream = await this.#reach(computerId, { op, input, ...(movable && { movable }) }, signal)
    const leave = (): void => stream.reset('the caller left')
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    const output = stream.output
      .then((answer) => checked(op, answer))
      .finally(() => signal.removeEventListener('abort', leave))
    output.catch(() => {})
    return withOutput(stream, output)
  }

  limit(computerId: Id, signal: AbortSignal, ms: number): UseLimit {
    return startLimit(this.#engine, computerId, signal, ms)
  }

  async ask<O extends OperationName>(
    computerId: Id,
    op: O,
    input: Input<O>,
    { signal, withinMs = answerMsOf(op, this.limits) }: { signal: AbortSignal; withinMs?: number },
  ): Promise<Output<O>> {
    using limit = this.limit(computerId, signal, withinMs)
    try {
      return await this.#answerOf(computerId, op, input, limit)
    } catch (error) {
      throw limit.reasonFor(error)
    }
  }

  async online(computerId: Id, waitMs: number, signal?: AbortSignal): Promise<boolean> {
    const until = performance.now() + waitMs
    for (;;) {
      signal?.throwIfAborted()
      if (this.live.get(computerId) !== undefined) return true
      if (this.live.over) return refuse('shutting_down', { headers: { 'retry-after': '1' } })
      const woken = this.live.linked(computerId, Math.max(0, Math.min(LOOK_MS, until - performance.now())))
      const place = await findPlace(this.#engine, computerId)
      if (this.#isElsewhere(place)) return true
      if (performance.now() >= until) return false
      await woken
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.live[Symbol.asyncDispose]()
    await this.#peers[Symbol.asyncDispose]()
  }

  /** Opens a stream wherever the link is, and waits for a computer that is expected back. */
  async #reach<O extends OperationName>(
    computerId: Id,
    request: OperationRequest & { op: O },
    signal: AbortSignal,
  ): Promise<AskedStream<O>> {
    const since = performance.now()
    for (;;) {
      const here = openHere(this.live, { ...request, computer_id: computerId })
      if (here !== null) return here
      const place = await findPlace(this.#engine, computerId)
      if (this.#isElsewhere(place)) {
        const stream = await this.#beyond(place, { ...request, computer_id: computerId })
        if (stream !== null) return stream
        // Its process may have been killed. The computer then connects to another process soon.
        const waits = !this.live.draining && !NEVER_WAITS.has(request.op) && performance.now() - since < COMES_BACK_MS
        if (!waits) return unreached()
        await this.live.linked(computerId, RETRY_MS)
        signal.throwIfAborted()
        continue
      }
      const now = performance.now()
      // The end of the link isn't written yet.
      const lost_ms = place?.processId === this.#engine.processId ? 0 : (place?.lost_ms ?? null)
      // A computer doesn't connect to a server that is stopping.
      const waits = place !== null && !this.live.draining && !NEVER_WAITS.has(request.op)
      const withinMs = waits ? comesWithin({ ...place, lost_ms }, now - this.#startedAt) : 0
      const remainingMs = Math.min(withinMs, since + COMES_BACK_MS - now)
      if (remainingMs <= 0) return offline(place)
      await this.online(computerId, Math.min(remainingMs, LOOK_MS), signal)
    }
  }

  #isElsewhere(place: Place | null): place is Elsewhere {
    return (
      place !== null && place.peer !== null && place.processId !== null && place.processId !== this.#engine.processId
    )
  }

  /** Opens a stream through another process. Null: the process can't be reached. */
  async #beyond<O extends OperationName>(
    place: Elsewhere,
    request: OperationRequest & { op: O },
  ): Promise<AskedStream<O> | null> {
    try {
      return await this.#peers.open(place.processId, place.peer, request)
    } catch (error) {
      if (!(error instanceof LinkLost)) throw error
      this.#engine.log.warn(
        { process_id: place.processId, peer: place.peer },
        'the process that holds a link is not reached',
      )
      return null
    }
  }

  async #answerOf<O extends OperationName>(
    computerId: Id,
    op: O,
    input: Input<O>,
    limit: UseLimit,
  ): Promise<Output<O>> {
    const { signal } = limit
    const gone = LOOKS.has(op) ? {} : { gone: () => interrupted('The connection to the computer was lost.') }
    const losses = lossesOf(this, computerId, { signal, patienceMs: BACK_MS, ...gone })
    for (;;) {
      try {
        const stream = await this.open(computerId, op, input, { signal })
        // Unread bytes would block the answer.
        void (async () => {
          let bytes = 0
          for await (const item of stream) {
            if (item.type === 'event' && TELLS.has(op)) limit.moved()
            if (item.type === 'bytes' && (bytes += item.bytes.length) > MAX_STRAY_BYTES)
              return stream.reset('bytes that nobody asked for')
          }
        })().catch(() => {})
        return await stream.output
      } catch (error) {
        signal.throwIfAborted()
        // The link was closed because the computer was silent.
        if (error instanceof LinkLost && error.message === SILENT && ONCE.has(op))
          throw await silentRefusal(this.#engine, computerId)
        if (error instanceof StreamReset) interrupted(error.message)
        if (error instanceof LinkLost && ONCE.has(op)) interrupted('The connection to the computer was lost.')
        await losses.outlast(error)
      }
    }
  }
}

/** Opens a stream on a link of this process. Null if another process holds the link. */
function openHere(
  live: LiveLinks,
  { op, input, computer_id, movable }: OperationRequest,
): AskedStream<OperationName> | null {
  const link = live.get(computer_id ?? '')
  if (link === undefined || link.mux.closed) return null
  link.asked = true
  const stream = link.mux.open({ op: op as OperationName, input })
  if (movable === true) {
    link.movable++
    const over = (): void => void link.movable--
    stream.output.then(over, over)
  }
  return stream
}

const unreached = (): never =>
  refuse('unavailable', {
    message: 'The server process connected to this computer can’t be reached. Try again.',
    headers: { 'retry-after': '1' },
  })

const interrupted = (message: string): never =>
  refuse('interrupted', { message: `${message} It’s unknown whether the request was carried out.` })

function checked<O extends OperationName>(op: O, answer: unknown): Output<O> {
  const { data, error } = operations[op].output.safeParse(answer)
  if (error) throw new Refusal('upstream_error', { message: `The computer sent an unexpected response to \`${op}\`.` })
  return data as Output<O>
}
