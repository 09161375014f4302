import type { IncomingMessage } from 'node:http'
import { BodyPieces } from '#infra/bodies/body-pieces.ts'
import { paceBody } from '#infra/bodies/read-turns.ts'
import { receivedBodies } from '#infra/bodies/received-bodies.ts'
import { WHOLE_MS, boundRemainder, dropSender } from '#infra/bodies/slow-body.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Reply, WholeRequest } from '#core/exchange.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, anonymous } from '#core/principal.ts'
import { shorten } from '#core/text/shorten.ts'
import { type AdmittedCaller, RightsWatch, admit, checkScope, presentedKey } from '#pipeline/admit.ts'
import { type Caller, callerOf, checkMayRun } from './caller.ts'
import type { Gateway, OpenRequest } from './gateway.ts'
import type { Operation, Surface } from './surface.ts'
import { type Asked, refusedEntry } from './logged.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'
import type { EndpointUse, ProviderEndpoint } from '../model/offer.ts'

/** Largest body that the gateways take. */
const LARGEST_BODY = 32 << 20
const RUN = { limit: 'inference', scope: 'gateway:run' } as const
const READ = { limit: 'reads', scope: 'gateway:run' } as const

/**
 * A request to a surface, from its head to the end of its answer. No promise is made where the next step can be taken
 * at once; whatever is thrown on the way is answered in the surface's own envelope.
 */
export class GatewayRequest implements AdmittedCaller, OpenRequest {
  readonly gateway: Gateway
  readonly surface: Surface
  readonly incoming: IncomingMessage | WholeRequest
  readonly response: Reply
  readonly id: Id
  readonly startedAt = performance.now()
  /**
   * Headers of whatever the answer will be: name, value, … They are written at once with the status: setting them one
   * by one costs more than all that the gateway itself does.
   */
  readonly head: string[]
  caller!: Caller
  /** The model that the body names, once it was read. */
  model: string | null = null
  /** The client has left, or its answer is over. */
  closed = false
  #flight: Disposable | null = null
  /** The bytes of its body, for as long as they are held here. */
  #share: Disposable | null = null
  #watch: Disposable | null = null
  #onLeave: (() => void) | null = null
  #tell: ((failure: Refusal) => void) | null = null
  #uses: (() => Iterable<EndpointUse>) | null = null
  #slow: NodeJS.Timeout | undefined
  /** Whether it asks a model for something: its end is logged then. */
  #runs = false
  #bytes: number | null = null
  place = -1

  constructor(gateway: Gateway, surface: Surface, incoming: IncomingMessage | WholeRequest, response: Reply, id: Id) {
    this.gateway = gateway
    this.surface = surface
    this.incoming = incoming
    this.response = response
    this.id = id
    this.head = [
      'x-request-id',
      id,
      'request-id',
      id,
      'x-service-version',
      gateway.engine.versions.newest,
      'access-control-allow-origin',
      '*',
    ]
    const { origin, 'x-client-request-id': named } = incoming.headers
    if (origin !== undefined) this.head.push('access-control-expose-headers', gateway.exposedHeaders)
    if (typeof named === 'string' && /^[\x21-\x7e]{1,128}$/.test(named)) this.head.push('x-client-request-id', named)
  }

  /** Admits the caller, then `work`. */
  enter(operation: Operation, work: () => void): void {
    this.response.on('close', () => this.#close())
    const runs = operation === 'generate' || operation === 'count_tokens' || operation === 'begin_video'
    this.#runs = runs
    this.after(admit(this.gateway, presentedKey(this.incoming.headers), runs ? RUN : READ, this), () => {
      checkMayRun(this.caller)
      work()
    })
  }

  get connection(): object {
    return this.incoming.socket
  }

  onEnter(flight: Disposable, principal: Principal): void {
    this.caller = callerOf(principal)
    this.#flight = flight
    // It left while its key was looked up.
    if (this.closed) this.#close()
  }

  onCount(headers: Record<string, string>): void {
    for (const name in headers) this.head.push(name, headers[name]!)
  }

  /** Goes on at once with what is there, else when it comes; what goes wrong later fails the request. */
  after<T>(value: T | Promise<T>, next: (value: T) => void): void {
    if (value instanceof Promise) value.then(next).catch((error: unknown) => this.fail(error))
    else next(value)
  }

  /** The whole body, unless it is too large. */
  readBody(next: (bytes: Buffer) => void): void {
    const { incoming } = this
    const { 'content-length': length, 'content-encoding': encoding } = incoming.headers
    // Codings are case-insensitive, and a 415 names those that are accepted (RFC 9110, 8.4.1 and 15.5.16).
    if (encoding?.split(',').some((coding) => !/^(?:identity)?$/i.test(coding.trim())))
      refuse('unsupported_media_type', {
        message: `\`Content-Encoding: ${shorten(encoding, 60)}\` isn’t supported. Send the body uncompressed; only \`identity\` is accepted.`,
        headers: { 'accept-encoding': 'identity' },
      })
    if ('whole' in incoming) {
      this.#bytes = incoming.whole.length
      return next(incoming.whole)
    }
    if (length !== undefined && Number(length) > LARGEST_BODY) this.#refuseLarge()
    this.#slow = setTimeout(dropSender, WHOLE_MS, incoming)
    const { accountId } = this.caller.principal
    const share = (this.#share = receivedBodies.share(accountId))
    const pieces = new BodyPieces(Number(length ?? LARGEST_BODY))
    let size = 0
    let refused = false
    incoming.on('data', (part: Buffer) => {
      size += part.length
      paceBody(incoming, accountId, size)
      // Bytes that come after a refusal are read and dropped: a connection reset would take the answer with it.
      if (refused || this.closed) return
      refused = true
      this.attempt(() => {
        if (size > LARGEST_BODY) this.#refuseLarge()
        share.add(part.length)
        pieces.add(part)
        refused = false
      })
      if (!refused) return
      pieces.clear()
      share[Symbol.dispose]()
    })
    incoming.on('end', () => {
      clearTimeout(this.#slow)
      this.#bytes = size
      if (refused || this.closed) return
      const read = (): void => next(pieces.join())
      const turn = share.turn()
      if (turn === null) this.attempt(read)
      else void turn.then(() => (this.closed ? undefined : this.attempt(read)))
    })
  }

  /** The request for the log, without the values of its query: they may be secrets. */
  asked(): Asked {
    const path = this.incoming.url!
    const mark = path.indexOf('?')
    return { path: mark < 0 ? path : path.slice(0, mark), model: this.model, bytes: this.#bytes }
  }

  /** Leaves the body: nobody reads it any more. */
  leaveBody(): void {
    if ('whole' in this.incoming) this.incoming.done()
    this.#share?.[Symbol.dispose]()
  }

  #refuseLarge(): never {
    return refuse('payload_too_large', { message: 'The body is larger than 32 MiB.' })
  }

  /** An error that `work` throws fails the request. */
  attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.fail(error)
    }
  }

  /**
   * Calls `leave` when the client leaves before the answer is over, or when it loses the right to a stream; then `tell`
   * where it is still there to be told why. `uses`: the endpoints that are answering it.
   */
  onLeave(leave: () => void, tell?: (failure: Refusal) => void, uses?: () => Iterable<EndpointUse>): void {
    if (this.closed) return leave()
    this.#onLeave = leave
    this.#tell = tell ?? null
    this.#uses = uses ?? null
    const { inProgress } = this.gateway
    if (this.place < 0) this.place = inProgress.push(this) - 1
  }

  uses(): Iterable<EndpointUse> {
    return this.#uses?.() ?? []
  }

  /** The server closes, and the answer is not over. */
  interrupt(failure: Refusal): void {
    const [leave, tell] = [this.#onLeave, this.#tell]
    this.over()
    leave?.()
    if (tell) tell(failure)
    else this.fail(failure)
  }

  /** The answer is over: a client that leaves now misses nothing. What it took is let go of before the connection's next. */
  over(): void {
    this.#onLeave = null
    this.#tell = null
    this.#uses = null
    if (this.place < 0) return
    const last = this.gateway.inProgress.pop()!
    if (last !== this) this.gateway.inProgress[(last.place = this.place)] = last
    this.place = -1
  }

  /**
   * Ends the stream of a caller whose key was revoked or lost its scope, who left the workspace whose endpoint answers, or
   * whose endpoint was disabled.
   */
  watchRights(serving: ProviderEndpoint): void {
    const rights = new StreamRights(this, serving)
    const endpoint = this.gateway.directory.watch(serving, () => this.response.destroy())
    this.#watch = {
      [Symbol.dispose]() {
        rights[Symbol.dispose]()
        endpoint[Symbol.dispose]()
      },
    }
    if (this.closed) this.#close()
  }

  json(status: number, body: object, headers: Record<string, string> = {}): void {
    if (this.response.headersSent || this.response.destroyed) return
    const text = JSON.stringify(body)
    const { head } = this
    head.push('content-type', 'application/json', 'content-length', String(Buffer.byteLength(text)))
    for (const name in headers) head.push(name, headers[name]!)
    this.response.writeHead(status, onceEach(head)).end(this.incoming.method === 'HEAD' ? undefined : text)
    if (!('whole' in this.incoming)) boundRemainder(this.incoming)
  }

  /**
   * A refusal, an upstream fault or a fault of ours, as the surface writes it. `lastEvent` writes it into a stream of events whose
   * head was sent.
   */
  fail(
    failure: Refusal | UpstreamFault | unknown,
    headers: Record<string, string> = {},
    lastEvent?: (body: object) => string,
  ): void {
    this.over()
    const answer = this.surface.error(failure, this.id)
    if (failure instanceof Error && !(failure instanceof Refusal))
      this.gateway.engine.log.error({ error: failure, request_id: this.id }, 'a gateway request failed')
    // A call that was begun has told of its own end already.
    if (this.#runs && (this.caller as Caller | undefined) !== undefined) this.#log(failure, answer.status)
    const { response } = this
    if (response.headersSent && lastEvent !== undefined && !response.writableEnded && !response.destroyed)
      response.end(lastEvent(answer.body))
    else if (response.headersSent) response.destroy()
    else this.json(answer.status, answer.body, { ...answer.headers, ...headers })
  }

  #log(failure: unknown, status: number): void {
    const { id, caller, surface, startedAt } = this
    // Who does not say who they are has no log.
    if (caller.principal === anonymous) return
    const asker = { id, payer: caller.payer, surface: surface.name, startedAt, asked: () => this.asked() }
    this.gateway.engine.requestLog.add(refusedEntry(asker, failure, status))
  }

  #close(): void {
    this.closed = true
    clearTimeout(this.#slow)
    this.#share?.[Symbol.dispose]()
    this.#flight?.[Symbol.dispose]()
    this.#flight = null
    this.#watch?.[Symbol.dispose]()
    this.#watch = null
    const leave = this.#onLeave
    this.over()
    leave?.()
  }
}

/** The right to a stream that is being sent. */
class StreamRights extends RightsWatch {
  readonly #response: Reply
  readonly #directory: Gateway['directory']
  readonly #serving: ProviderEndpoint

  constructor({ gateway, incoming, response, caller }: GatewayRequest, serving: ProviderEndpoint) {
    super(gateway.authority, presentedKey(incoming.headers), caller.principal, incoming.socket)
    this.#response = response
    this.#directory = gateway.directory
    this.#serving = serving
  }

  protected check(principal: Principal): void {
    checkScope(principal, RUN.scope)
    checkMayRun(callerOf(principal))
    if (!this.#directory.mayUse(principal, this.#serving)) refuse('not_found')
  }

  protected onLost(): void {
    this.#response.destroy()
  }
}

/** The headers with each name once: of a repeated one, as a rate limit's in its refusal, the last. */
function onceEach(head: readonly string[]): string[] {
  const values = new Map<string, string>()
  for (let i = 0; i < head.length; i += 2) values.set(head[i]!, head[i + 1]!)
  return [...values].flat()
}
