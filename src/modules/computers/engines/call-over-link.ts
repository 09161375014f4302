import type { Dispatcher } from 'undici'
import type { AskedStream } from '#daemon-protocol/link.ts'
import { TransportFailed } from '#modules/ai-gateway/service.ts'
import { LIMITS } from '#packages/http-client/limits.ts'
import type { Send } from '#packages/http-client/send.ts'
import { Refusal } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { CallHead, type Input } from '#daemon-protocol/operations.ts'
import { LinkLost } from '#packages/mux/stream.ts'
import type { Links } from '../link/links.ts'

const PATHS: Readonly<Record<string, Input<'engine.call'>['path']>> = {
  '/v1/chat/completions': 'chat/completions',
  '/v1/embeddings': 'embeddings',
  '/v1/audio/transcriptions': 'audio/transcriptions',
}

/** The handler gets the response as if over HTTP. */
export function callOverLink(
  links: Links,
  computerId: Id,
  model: string,
  send: Send,
  handler: Dispatcher.DispatchHandler,
): void {
  const path = PATHS[send.path.split('?')[0]!]
  void new LinkCall(handler, send.withinMs).run(async (signal) => {
    if (path === undefined)
      throw new Refusal('not_found', { message: `Local models don’t support ${send.path.split('?')[0]}.` })
    const stream = await links.open(computerId, 'engine.call', { model, path }, { signal })
    const body = Buffer.concat([Buffer.from(send.lead ?? '', 'latin1'), bytesOf(send.body)])
    void stream
      .write(body)
      .then(() => stream.finish())
      // The error is reported to the reader of the response.
      .catch(() => {})
    return stream
  })
}

const bytesOf = (body: Send['body']): Buffer =>
  body === null ? Buffer.alloc(0) : typeof body === 'string' ? Buffer.from(body, 'latin1') : body

class CallTimeout extends Error {
  override name = 'CallTimeout'
  readonly code = 'UK_ANSWER_TIMEOUT'
}
const broken = (message: string): TransportFailed => new TransportFailed({ kind: 'server_error', message })

/** The error's type decides whether the gateway retries this computer. */
function toGatewayError(error: Error): Error {
  if (error instanceof CallTimeout || error instanceof TransportFailed) return error
  if (error instanceof LinkLost)
    return new TransportFailed({ kind: 'unreachable', message: 'The connection to the computer was lost.' })
  return broken(error instanceof Refusal ? error.message : 'The computer aborted the response.')
}

class LinkCall implements Dispatcher.DispatchController {
  readonly #handler: Dispatcher.DispatchHandler
  readonly #leaving = new AbortController()
  readonly #until: number
  #timer: NodeJS.Timeout | null = null
  #wake: (() => void) | null = null
  #hasStarted = false
  #over = false
  #size = 0
  paused = false
  aborted = false
  reason: Error | null = null
  rawHeaders = null
  rawTrailers = null

  constructor(handler: Dispatcher.DispatchHandler, withinMs = Infinity) {
    this.#handler = handler
    this.#until = performance.now() + Math.min(withinMs, LIMITS.streamMs)
  }

  async run(open: (signal: AbortSignal) => Promise<AskedStream<'engine.call'>>): Promise<void> {
    try {
      this.#handler.onRequestStart?.(this, null)
      if (this.aborted) return
      this.#wait(LIMITS.headMs)
      const stream = await open(this.#leaving.signal)
      for await (const item of stream) {
        if (this.aborted) return
        this.#wait(LIMITS.idleMs)
        if (item.type === 'event') this.#head(item.event)
        // The link reuses a frame's bytes, and handlers may keep them.
        else if (item.type === 'bytes') this.#data(Buffer.from(item.bytes))
        if (this.paused) await this.#resumed()
      }
      await stream.output
      if (this.aborted) return
      if (!this.#hasStarted) throw broken('The computer sent a response without headers.')
      this.#finish()
      this.#handler.onResponseEnd?.(this, {})
    } catch (error) {
      this.#failed(error as Error)
    }
  }

  #head(event: unknown): void {
    const { success, data } = CallHead.safeParse(event)
    if (!success || this.#hasStarted) return
    this.#hasStarted = true
    this.#handler.onResponseStart?.(this, data.status, { 'content-type': data.content_type })
  }

  #data(bytes: Buffer): void {
    if (!this.#hasStarted) throw broken('The computer sent a response without headers.')
    this.#size += bytes.length
    if (this.#size > LIMITS.mostBytes) throw broken('The computer’s response is too long.')
    this.#handler.onResponseData?.(this, bytes)
  }

  #failed(error: Error): void {
    if (this.#over) return
    this.#finish()
    this.#leaving.abort(error)
    if (error instanceof Refusal && !this.#hasStarted && !this.aborted) return this.#refuse(error)
    this.aborted = true
    this.reason ??= error
    this.#handler.onResponseError?.(this, toGatewayError(this.reason))
  }

  /** Reports a refusal like a provider's error response. */
  #refuse({ code, message, status, type }: Refusal): void {
    const away = ['computer_offline', 'capability_denied', 'not_supported', 'interrupted'].includes(code)
    const headers = { 'content-type': 'application/json', ...(away && { 'x-should-retry': 'false' }) }
    try {
      this.#handler.onResponseStart?.(this, away ? 503 : status, headers)
      this.#handler.onResponseData?.(this, Buffer.from(JSON.stringify({ error: { message, type, code } })))
      this.#handler.onResponseEnd?.(this, {})
    } catch (error) {
      this.#handler.onResponseError?.(this, error as Error)
    }
  }

  #wait(ms: number): void {
    if (this.#timer) clearTimeout(this.#timer)
    const remainingMs = Math.max(0, Math.min(ms, this.#until - performance.now()))
    this.#timer = setTimeout(() => this.abort(new CallTimeout('the computer took too long')), remainingMs)
  }

  #finish(): void {
    this.#over = true
    if (this.#timer) clearTimeout(this.#timer)
  }

  abort(reason: Error): void {
    if (this.#over || this.aborted) return
    this.aborted = true
    this.reason = reason
    this.#leaving.abort(reason)
    this.resume()
    this.#failed(reason)
  }

  pause(): void {
    this.paused = true
    // The gateway limits slow readers.
    if (this.#timer) clearTimeout(this.#timer)
  }

  resume(): void {
    this.paused = false
    this.#wake?.()
    this.#wake = null
  }

  #resumed(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve))
  }
}
