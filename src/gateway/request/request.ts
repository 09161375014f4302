import type { IncomingMessage } from 'node:http'
import { BodyPieces } from '#infra/bodies/body-pieces.ts'
import { paceBody } from '#packages/fair-queue/read-turns.ts'
import { receivedBodies } from '#infra/bodies/received-bodies.ts'
import { WHOLE_MS, boundRemainder, dropSender } from '#infra/bodies/slow-body.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Reply, WholeRequest } from '#core/http/exchange.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, anonymous } from '#core/principal.ts'
import { shorten } from '#core/text/shorten.ts'
import { type AdmittedCaller, RightsWatch, admit, checkScope, presentedKey } from '#pipeline/admit.ts'
import { type Caller, callerOf, checkMayRun } from './caller.ts'
import type { Gateway, OpenRequest } from './gateway.ts'
import { onceEach } from './once-each.ts'
import type { Operation, Surface } from './surface.ts'
import { type RequestFacts, refusedEntry } from './logged.ts'
import type { UpstreamFault } from '../model/canonical-request.ts'
import type { EndpointUse, ProviderEndpoint } from '../model/offer.ts'

const LARGEST_BODY = 32 << 20
const RUN = { limit: 'inference', scope: 'gateway:run' } as const
const READ = { limit: 'reads', scope: 'gateway:run' } as const

/**
 * Callbacks instead of promises, so that steps with available data run at once. Anything thrown is answered in the
 * surface's own error format.
 */
export class GatewayRequest implements AdmittedCaller, OpenRequest {
  readonly gateway: Gateway
  readonly surface: Surface
  readonly incoming: IncomingMessage | WholeRequest
  readonly response: Reply
  readonly id: Id
  readonly startedAt = performance.now()
  /**
   * Headers of the answer: name, value, … Written at once with the status, because setting them one by one costs more
   * than everything else in the gateway.
   */
  readonly head: string[]
  caller!: Caller
  model: string | null = null
  closed = false
  #flight: Disposable | null = null
  #share: Disposable | null = null
  #watch: Disposable | null = null
  #onLeave: (() => void) | null = null
  #tell: ((failure: Refusal) => void) | null = null
  #uses: (() => Iterable<EndpointUse>) | null = null
  #slow: NodeJS.Timeout | undefined
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
    const { origin, 'x-client-request-id': clientRequestId } = incoming.headers
    if (origin !== undefined) this.head.push('access-control-expose-headers', gateway.exposedHeaders)
    if (typeof clientRequestId === 'string' && /^[\x21-\x7e]{1,128}$/.test(clientRequestId))
      this.head.push('x-client-request-id', clientRequestId)
  }

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
    if (this.closed) this.#close()
  }

  onCount(headers: Record<string, string>): void {
    for (const name in headers) this.head.push(name, headers[name]!)
  }

  /** Calls `next` at once for an available value, else when it arrives; later errors fail the request. */
  after<T>(value: T | Promise<T>, next: (value: T) => void): void {
    if (value instanceof Promise) value.then(next).catch((error: unknown) => this.fail(error))
    else next(value)
  }

  readBody(next: (bytes: Buffer) => void): void {
    const { incoming } = this
    const { 'content-length': length, 'content-encoding': encoding } = incoming.headers
    // Codings are case-insensitive, and a 415 names the accepted ones (RFC 9110, 8.4.1 and 15.5.16).
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
    let isRefused = false
    incoming.on('data', (part: Buffer) => {
      size += part.length
      paceBody(incoming, accountId, size)
      // Bytes after a refusal are read and dropped: a connection reset would discard the answer.
      if (isRefused || this.closed) return
      isRefused = true
      this.attempt(() => {
        if (size > LARGEST_BODY) this.#refuseLarge()
        share.add(part.length)
        pieces.add(part)
        isRefused = false
      })
      if (!isRefused) return
      pieces.clear()
      share[Symbol.dispose]()
    })
    incoming.on('end', () => {
      clearTimeout(this.#slow)
      this.#bytes = size
      if (isRefused || this.closed) return
      const finish = (): void => next(pieces.join())
      const turn = share.turn()
      if (turn === null) this.attempt(finish)
      else void turn.then(() => (this.closed ? undefined : this.attempt(finish)))
    })
  }

  /** Without query values: they may be secrets. */
  asked(): RequestFacts {
    const path = this.incoming.url!
    const mark = path.indexOf('?')
    return { path: mark < 0 ? path : path.slice(0, mark), model: this.model, bytes: this.#bytes }
  }

  leaveBody(): void {
    if ('whole' in this.incoming) this.incoming.done()
    this.#share?.[Symbol.dispose]()
  }

  #refuseLarge(): never {
    return refuse('payload_too_large', { message: 'The body is larger than 32 MiB.' })
  }

  attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.fail(error)
    }
  }

  /**
   * `leave` is called when the client disconnects or loses access to the stream; then `tell`, if it can still receive
   * the reason. `uses`: the endpoints that are answering.
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

  interrupt(failure: Refusal): void {
    const [leave, tell] = [this.#onLeave, this.#tell]
    this.over()
    leave?.()
    if (tell) tell(failure)
    else this.fail(failure)
  }

  /** A client that disconnects now misses nothing. Releases resources before the connection's next request. */
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
   * Ends the stream if the key is revoked or loses its scope, the caller leaves the workspace that owns the endpoint,
   * or the endpoint is disabled.
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

  /** `lastEvent` writes the error into an event stream whose head was already sent. */
  fail(
    failure: Refusal | UpstreamFault | unknown,
    headers: Record<string, string> = {},
    lastEvent?: (body: object) => string,
  ): void {
    this.over()
    const answer = this.surface.error(failure, this.id)
    if (failure instanceof Error && !(failure instanceof Refusal))
      this.gateway.engine.log.error({ error: failure, request_id: this.id }, 'a gateway request failed')
    // A started call has already logged its own end.
    if (this.#runs && (this.caller as Caller | undefined) !== undefined) this.#log(failure, answer.status)
    const { response } = this
    if (response.headersSent && lastEvent !== undefined && !response.writableEnded && !response.destroyed)
      response.end(lastEvent(answer.body))
    else if (response.headersSent) response.destroy()
    else this.json(answer.status, answer.body, { ...answer.headers, ...headers })
  }

  #log(failure: unknown, status: number): void {
    const { id, caller, surface, startedAt } = this
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
