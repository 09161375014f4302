import type { AskedStream, OperationRequest } from '#daemon-protocol/link.ts'
import type { Engine } from '#infra/context.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { SILENT } from '#packages/mux/heartbeat.ts'
import { type Input, type OperationName, type Output, operations } from '#daemon-protocol/operations.ts'
import { relay } from '#packages/mux/relay.ts'
import { LinkLost, type Stream, StreamReset } from '#packages/mux/stream.ts'
import { TELLS, USE_LIMITS, type UseLimit, type UseLimits, answerMsOf, silentRefusal, startLimit } from './limits.ts'
import { LiveLinks } from './live-links.ts'
import { lossesOf } from './losses.ts'
import { COMES_BACK_MS, comesWithin, offline } from './offline.ts'
import { type Peers, startPeers } from './peers.ts'
import { type Place, findPlace } from './state.ts'

/** The way to computers, whichever process of the instance holds their links. */
export interface Links {
  /**
   * Asks for one thing and waits; bytes that come are dropped. Refuses with 409 `computer_offline`; a computer that is
   * just starting, or whose link broke just now, is waited for before. Where the link is lost, a safe question is asked
   * again once the computer is back; any other is 503 `interrupted`. After `withinMs`, by default what `limits.ts` gives
   * the operation, it refuses with 504 `timeout`, or 409 where the computer is away.
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
   * Opens a stream. On `LinkLost` its opener asks again with its key and offsets. The signal resets it. `movable`: a
   * server that stops does not wait for it, as it goes on over another link.
   */
  open<O extends OperationName>(
    computerId: Id,
    op: O,
    input: Input<O>,
    more: { signal: AbortSignal; movable?: boolean },
  ): Promise<AskedStream<O>>
  /** Resolves when a computer is linked to any process, or false after the wait. Throws the signal's reason once it fires. */
  online(computerId: Id, waitMs: number, signal?: AbortSignal): Promise<boolean>
  /** The computers whose links this process holds. */
  held(): Id[]
}

export interface HasLinks {
  links: Links
}

/** The operations that asked a second time would do something a second time, or refuse what they did. */
const ONCE: ReadonlySet<OperationName> = new Set([
  'fs.mkdir',
  'fs.remove',
  'fs.write',
  // Not repeated automatically: by then the sender may have permission again. A job repeats it.
  'fs.upload_drop',
  'ports.dial',
  'users.create',
  'users.delete',
  'engine.call',
  'engine.remove',
])
/**
 * The operations that wait for no computer that is away: they ask whether it is there, another may answer as well, or a
 * job asks again.
 */
const NEVER_WAITS: ReadonlySet<OperationName> = new Set([
  'daemon.probe',
  'engine.call',
  'engine.models',
  'fs.upload_drop',
])
/** The time that a computer which was there a moment ago is waited for. */
const BACK_MS = 30_000
/** The operations that change nothing: where the computer does not come back, nothing was done. */
const LOOKS: ReadonlySet<OperationName> = new Set([
  'daemon.probe',
  'terminal.list',
  'terminal.read',
  'fs.start',
  'fs.list',
  'fs.stat',
  'fs.upload_offset',
  'ports.list',
  'users.list',
  'engine.models',
])
/** The time after which a change is looked for that no poke told of. */
const LOOK_MS = 1_000
/** The time between two attempts to reach the process that holds a link. */
const RETRY_MS = 250

/** The place of a link that another process holds. */
type Elsewhere = Place & { processId: Id; peer: string }

export interface RunningLinks extends Links, AsyncDisposable {
  live: LiveLinks
  /** The address at which this process listens for the others. */
  peer: string
}

/** The most bytes that are read beside an answer that has none. */
const MOST_UNASKED = 65_536

/** `given`: limits in the place of the usual ones. */
export async function startLinks(engine: Engine, given: Partial<UseLimits> = {}): Promise<RunningLinks> {
  const limits = { ...USE_LIMITS, ...given }
  const live = new LiveLinks(engine)
  const peers: Peers = await startPeers({
    engine,
    host: engine.config.peerHost,
    answer(asked, stream, { signal }) {
      const further = openHere(live, asked)
      // Another process has looked where the link is, and it was here a moment ago.
      if (further === null) throw new LinkLost('the link has gone elsewhere')
      return relay(stream, further, signal)
    },
  })

  const begun = performance.now()
  async function reach<O extends OperationName>(
    computerId: Id,
    asked: OperationRequest & { op: O },
    signal: AbortSignal,
  ): Promise<AskedStream<O>> {
    const since = performance.now()
    for (;;) {
      const here = openHere(live, { ...asked, computer_id: computerId })
      if (here !== null) return here
      const place = await findPlace(engine, computerId)
      if (isElsewhere(place)) {
        const stream = await beyond(place, { ...asked, computer_id: computerId })
        if (stream !== null) return stream
        // Its process may have been killed. The computer then connects to another one soon.
        const waits = !live.draining && !NEVER_WAITS.has(asked.op) && performance.now() - since < COMES_BACK_MS
        if (!waits) return unreached()
        await live.linked(computerId, RETRY_MS)
        signal.throwIfAborted()
        continue
      }
      const now = performance.now()
      // The end of the link is not noted yet.
      const lost_ms = place?.processId === engine.processId ? 0 : (place?.lost_ms ?? null)
      // A computer does not come to a server that stops.
      const waits = place !== null && !live.draining && !NEVER_WAITS.has(asked.op)
      const within = waits ? comesWithin({ ...place, lost_ms }, now - begun) : 0
      const left = Math.min(within, since + COMES_BACK_MS - now)
      if (left <= 0) return offline(place)
      await links.online(computerId, Math.min(left, LOOK_MS), signal)
    }
  }
  const isElsewhere = (place: Place | null): place is Elsewhere =>
    place !== null && place.peer !== null && place.processId !== null && place.processId !== engine.processId

  /** Opens a stream through another process. Null: the process can't be reached. */
  async function beyond<O extends OperationName>(
    place: Elsewhere,
    asked: OperationRequest & { op: O },
  ): Promise<AskedStream<O> | null> {
    try {
      return await peers.open(place.processId, place.peer, asked)
    } catch (error) {
      if (!(error instanceof LinkLost)) throw error
      engine.log.warn({ process_id: place.processId, peer: place.peer }, 'the process that holds a link is not reached')
      return null
    }
  }

  const links: Links = {
    held: () => live.held(),

    async open(computerId, op, input, { signal, movable = false }) {
      signal.throwIfAborted()
      const stream = await reach(computerId, { op, input, ...(movable && { movable }) }, signal)
      const leave = (): void => stream.reset('the caller left')
      if (signal.aborted) leave()
      signal.addEventListener('abort', leave, { once: true })
      const output = stream.output
        .then((answered) => checked(op, answered))
        .finally(() => signal.removeEventListener('abort', leave))
      output.catch(() => {})
      return withOutput(stream, output)
    },

    limits,
    limit: (computerId, signal, ms) => startLimit(engine, computerId, signal, ms),

    async ask(computerId, op, input, { signal, withinMs = answerMsOf(op, limits) }) {
      using limit = links.limit(computerId, signal, withinMs)
      try {
        return await answerOf(computerId, op, input, limit)
      } catch (error) {
        throw limit.reasonFor(error)
      }
    },

    async online(computerId, waitMs, signal) {
      const until = performance.now() + waitMs
      for (;;) {
        signal?.throwIfAborted()
        if (live.get(computerId) !== undefined) return true
        if (live.over) return refuse('shutting_down', { headers: { 'retry-after': '1' } })
        const woken = live.linked(computerId, Math.max(0, Math.min(LOOK_MS, until - performance.now())))
        const place = await findPlace(engine, computerId)
        if (isElsewhere(place)) return true
        if (performance.now() >= until) return false
        await woken
      }
    },
  }

  async function answerOf<O extends OperationName>(
    computerId: Id,
    op: O,
    input: Input<O>,
    limit: UseLimit,
  ): Promise<Output<O>> {
    const { signal } = limit
    const gone = LOOKS.has(op) ? {} : { gone: () => interrupted('The connection to the computer was lost.') }
    const losses = lossesOf(links, computerId, { signal, patienceMs: BACK_MS, ...gone })
    for (;;) {
      try {
        const stream = await links.open(computerId, op, input, { signal })
        // Bytes that nobody reads would hold up the answer.
        void (async () => {
          let bytes = 0
          for await (const item of stream) {
            if (item.type === 'event' && TELLS.has(op)) limit.moved()
            if (item.type === 'bytes' && (bytes += item.bytes.length) > MOST_UNASKED)
              return stream.reset('bytes that nobody asked for')
          }
        })().catch(() => {})
        return await stream.output
      } catch (error) {
        signal.throwIfAborted()
        // The link was closed because the computer was silent.
        if (error instanceof LinkLost && error.message === SILENT && ONCE.has(op))
          throw await silentRefusal(engine, computerId)
        if (error instanceof StreamReset) interrupted(error.message)
        if (error instanceof LinkLost && ONCE.has(op)) interrupted('The connection to the computer was lost.')
        await losses.outlast(error)
      }
    }
  }

  return {
    ...links,
    live,
    peer: peers.address,
    async [Symbol.asyncDispose]() {
      await live[Symbol.asyncDispose]()
      await peers[Symbol.asyncDispose]()
    },
  }
}

/** Opens a stream on a link of this process; null: this process does not hold the link. */
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

/** Checks an answer: a daemon may answer anything. */
function checked<O extends OperationName>(op: O, answered: unknown): Output<O> {
  const { data, error } = operations[op].output.safeParse(answered)
  if (error) throw new Refusal('upstream_error', { message: `The computer sent an unexpected response to \`${op}\`.` })
  return data as Output<O>
}

function withOutput<O extends OperationName>(stream: Stream, output: Promise<Output<O>>): AskedStream<O> {
  return {
    output,
    write: (bytes, channel, offset) => stream.write(bytes, channel, offset),
    event: (event) => stream.event(event),
    taken: () => stream.taken(),
    finish: () => stream.finish(),
    reset: (reason) => stream.reset(reason),
    lose: (reason) => stream.lose(reason),
    [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator](),
  }
}
