import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { nextPiece } from '#packages/fair-queue/slices.ts'
import type { Outbound } from '#packages/http-client/outbound.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { excessOf } from '#packages/json-scan/json-text.ts'
import { dispatch } from '../providers/dispatch.ts'
import type { Offer } from '../model/offer.ts'
import { ERROR_BODY, faultOf } from '../passthrough/text-passthrough.ts'
import { scrub } from '../wire/scrub.ts'
import { fault, readFault } from '../wire/faults/faults.ts'
import { unreadableBody, unreadableHead } from '../wire/unreadable.ts'
import { parseJson } from '../model/json.ts'
import { wellFormedJson } from '../model/well-formed.ts'
import type { Target } from '../wire/shared/target.ts'
import { renameBack } from '../wire/shared/tools/tool-names.ts'
import { quirksOwner } from '../providers/supports.ts'
import { type ChunkStep, chainSteps } from './chunk-step.ts'
import { StopSequences } from './stop-sequences.ts'
import type { Chunk, Loss, CanonicalRequest } from '../model/canonical-request.ts'
import { upstreamOf } from '../providers/upstream.ts'
import { type Translator, translatorFor } from './translators.ts'

export interface PreparedRequest {
  losses: Loss[]
  body: Record<string, unknown>
  /** The last chunk is one `finish` or one `error`; nothing follows the signal. */
  chunks(
    outbound: Outbound,
    party: Id,
    signal: AbortSignal,
    steps: readonly ChunkStep[],
  ): AsyncGenerator<Chunk, void, undefined>
}

export function prepare(offer: Offer, canonical: CanonicalRequest): PreparedRequest {
  const { endpoint } = offer
  const translator =
    translatorFor(offer) ??
    refuse('unsupported_model', {
      message: `${offer.slug} is served in an unsupported API format: ${endpoint.shape}.`,
    })
  const target: Target = {
    model: offer.upstreamModel,
    maxOutputTokens: offer.maxOutputTokens,
    capabilities: offer.capabilities,
    provider: quirksOwner(endpoint),
  }
  const { body, losses, renamed, watched = [] } = translator.encode(canonical, target, { stream: true })
  const stops = watched.filter((words) => words !== '')
  const upstream = upstreamOf(endpoint)
  const path = upstream.base + translator.path(offer.upstreamModel)
  const headers = [...upstream.headers]
  if (endpoint.shape === 'anthropic-messages' && !upstream.names.has('anthropic-version'))
    headers.push('anthropic-version', '2023-06-01')
  const asRequested = (chunk: Chunk): Chunk => {
    if (chunk.type === 'error') return { type: 'error', error: scrub(chunk.error, endpoint) }
    return renamed.size === 0 ? chunk : renameBack(chunk, renamed)
  }
  return {
    losses,
    body,
    chunks(outbound, party, signal, furtherSteps) {
      const steps: ChunkStep[] = [
        ...(stops.length === 0 ? [] : [new StopSequences(stops)]),
        { push: (chunk, next) => next(asRequested(chunk)) },
        ...furtherSteps,
      ]
      return new UpstreamStream(translator, party, signal, steps).chunks((stream) =>
        dispatch(
          outbound,
          upstream,
          {
            origin: upstream.origin,
            path,
            method: 'POST',
            headers,
            body: Buffer.from(wellFormedJson(body)),
            mayBePrivate: upstream.mayBePrivate,
            credential: upstream.credential,
            party,
          },
          { model: offer.upstreamModel, stream: true },
          stream,
        ),
      )
    },
  }
}

const MAX_WAITING = 512
const MAX_IN_A_ROW = 256
const MAX_BODY = 32 << 20
const ANSWER_BOUNDS = { values: 200_000, depth: 512 }

class UpstreamStream implements Dispatcher.DispatchHandler {
  readonly #translator: Translator
  readonly #party: Id
  readonly #signal: AbortSignal
  readonly #reader: { feed(bytes: Uint8Array): Chunk[]; end(): Chunk[] }
  #controller: Dispatcher.DispatchController | null = null
  #waiting: Chunk[] = []
  #taken = 0
  #wake: (() => void) | null = null
  #over = false
  #failure: { error: unknown } | null = null
  readonly #push: (chunk: Chunk) => void
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #events = false
  #parts: Buffer[] = []
  #size = 0
  readonly #onAbort = (): void => this.leave()

  constructor(translator: Translator, party: Id, signal: AbortSignal, steps: readonly ChunkStep[]) {
    this.#translator = translator
    this.#party = party
    this.#reader = translator.reader()
    this.#push = chainSteps(steps, (chunk) => this.#waiting.push(chunk))
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort)
  }

  async *chunks(send: (handler: this) => void): AsyncGenerator<Chunk, void, undefined> {
    try {
      send(this)
      for (let inARow = 0; ;) {
        this.#signal.throwIfAborted()
        const next = this.#take()
        if (next !== null) {
          yield next
          if (++inARow < MAX_IN_A_ROW) continue
          // Without this limit, available chunks would all be written before anyone else is served.
          inARow = 0
          await nextPiece(this.#party)
        } else if (this.#failure !== null) throw this.#failure.error
        else if (this.#over) return
        else {
          inARow = 0
          await new Promise<void>((resolve) => (this.#wake = resolve))
        }
      }
    } finally {
      this.leave()
    }
  }

  #take(): Chunk | null {
    const next = this.#waiting[this.#taken]
    if (next === undefined) return null
    if (++this.#taken === this.#waiting.length) {
      this.#waiting = []
      this.#taken = 0
      this.#controller?.resume()
    }
    return next
  }

  leave(): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
    const wasOver = this.#over
    // First, because an abort reports an error of the connection before it returns.
    this.#over = true
    if (!wasOver) this.#controller?.abort(new Error('the caller left'))
    this.#finish([])
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#over) controller.abort(new Error('the caller left'))
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.#status = status
    this.#headers = headers
    const why = unreadableHead(status, headers)
    if (why !== null) {
      this.#finish([{ type: 'error', error: why }])
      return controller.abort(new Error('nothing can be read of it'))
    }
    this.#events = status < 300 && /^text\/event-stream/i.test(headers['content-type'] ?? '')
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#events) this.#put(this.#reader.feed(bytes))
    else if ((this.#size += bytes.length) <= (this.#status >= 300 ? ERROR_BODY : MAX_BODY)) this.#parts.push(bytes)
    else return this.#tooMuch(controller)
    if (this.#waiting.length > MAX_WAITING) controller.pause()
  }

  onResponseEnd(): void {
    if (this.#events) return this.#finish(this.#reader.end())
    const bytes = Buffer.concat(this.#parts)
    const text = bytes.toString()
    if (this.#status >= 300)
      return this.#finish([{ type: 'error', error: readFault(this.#status, this.#headers, text) }])
    const excess = excessOf(bytes, ANSWER_BOUNDS)
    if (excess !== null)
      return this.#finish([
        { type: 'error', error: fault('garbage', `The provider’s response contains ${excess}.`, null) },
      ])
    const chunks = this.#translator.readAnswer(parseJson(text))
    const isNone = chunks.every((one) => one.type === 'start' || (one.type === 'error' && one.error.kind === 'garbage'))
    this.#finish(isNone ? [{ type: 'error', error: unreadableBody(this.#headers, bytes, 'JSON') }] : chunks)
  }

  /** The beginning of an error is enough; the beginning of an answer isn't. */
  #tooMuch(controller: Dispatcher.DispatchController): void {
    if (this.#over) return
    if (this.#status >= 300) this.onResponseEnd()
    else this.#finish([{ type: 'error', error: fault('garbage', 'The provider’s response is too large.', null) }])
    controller.abort(new Error('too much'))
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (!this.#over) this.#finish([{ type: 'error', error: faultOf(error, this.#status > 0) }])
  }

  #put(chunks: Chunk[]): void {
    if (this.#over) return
    try {
      for (const chunk of chunks) this.#push(chunk)
    } catch (error) {
      // Only a bug throws here. The answer's reader gets the error, not the connection.
      this.#failure = { error }
      this.leave()
    }
    this.#wake?.()
    this.#wake = null
  }

  #finish(chunks: Chunk[]): void {
    this.#put(chunks)
    this.#over = true
    this.#wake?.()
    this.#wake = null
  }
}
