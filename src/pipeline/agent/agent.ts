import type { EndpointReply } from '#core/answers.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { nextPiece } from '#packages/fair-queue/slices.ts'
import type { Context } from '#infra/context.ts'
import { logScope } from '#infra/log.ts'
import { type ErrorBody, Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, hasScope } from '#core/principal.ts'
import { checkShape } from '#core/json/json-text.ts'
import type { Entry } from '#core/registry.ts'
import type { Scope } from '#core/scopes.ts'
import { admit, countedAs, limitOf, presentedKey } from '../admit.ts'
import { allowCors, answerPreflight } from '../cors.ts'
import type { Entrance } from '../entrance.ts'
import { questionOf, redeem } from './consents.ts'
import { deeperThan, readBytes } from '../rest/read.ts'
import { refusedAnswer } from '../rest/reply.ts'
import { replyTo } from './reply.ts'
import { echoClientRequestId, setHeaders } from '../rest/write.ts'

const BODY_LIMIT = 1 << 20
const DEEPEST = 64
/** Nesting levels of a message around a tool's input. */
const ENVELOPE = 8
const MESSAGE = { limit: 'reads', scope: null } as const

export interface AgentParts extends Entrance {
  closing: () => AbortSignal
}

export interface AgentDoor {
  endpoints: readonly Entry<Context>[]
  /** Refuses invalid callers. Null if the request was a preflight and was answered. */
  admit(request: IncomingMessage, response: ServerResponse, requestId: Id): Promise<AdmittedAgent | null>
}

export interface AdmittedAgent extends Disposable {
  requestId: Id
  origin: string
  body: Buffer
  signal: AbortSignal
  /** Resolves when the next piece of a large answer may be written: accounts take turns. */
  nextPiece: () => Promise<void>
  may(scope: Scope | null): boolean
  call(name: string, input: unknown, consented?: boolean): Promise<EndpointReply>
  /** The approval question for this call. The client returns it with the person's answer. */
  question(name: string, input: unknown): string
  redeem(question: string, name: string, input: unknown): Promise<void>
  refusal(error: unknown): ErrorBody
}

interface CallLife extends Disposable {
  /** Fires when the caller leaves. */
  leaveSignal: AbortSignal
  /** Also aborted when the server closes or a stream's request ends. */
  over: AbortController
}

/**
 * Connects the agent tool to the pipeline. It accepts only keys, so cross-site checks aren't needed. Each message
 * counts as a read, and each call also counts in its endpoint's class. It always uses the newest contract version, the
 * one it describes.
 */
export const createAgentDoor = (parts: AgentParts): AgentDoor => new KeyDoor(parts)

class KeyDoor implements AgentDoor {
  readonly endpoints: readonly Entry<Context>[]
  readonly #parts: AgentParts

  constructor(parts: AgentParts) {
    this.#parts = parts
    this.endpoints = [...parts.line.entries.values()]
  }

  async admit(request: IncomingMessage, response: ServerResponse, requestId: Id): Promise<AdmittedAgent | null> {
    const { versions, origins, metrics, closing } = this.#parts
    const startedAt = performance.now()
    response.once('close', () => metrics.request('mcp', response.statusCode, (performance.now() - startedAt) / 1000))
    response.setHeader('x-service-version', versions.newest)
    echoClientRequestId(request, response)
    origins.checkHost(request)
    origins.checkOrigin(request)
    allowCors(request, response)
    if (request.method === 'OPTIONS') {
      answerPreflight(response, ['POST'])
      return null
    }
    if (request.method !== 'POST')
      refuse('method_not_allowed', { message: 'This path supports POST.', headers: { allow: 'POST' } })
    using stack = new DisposableStack()
    const { key, principal } = await this.#enter(request, response, stack)
    const life = stack.use(lifeOf(response, closing()))
    const body = await readBytes(request, BODY_LIMIT, principal.accountId, stack)
    checkShape(body, DEEPEST + ENVELOPE)
    return new KeyAgent(this.#parts, { request, requestId, body, key, principal, life, resources: stack.move() })
  }

  /**
   * Authenticates the message's key. A 401 names the required scheme and whether the sent credential was invalid (RFC
   * 6750, 3).
   */
  async #enter(
    request: IncomingMessage,
    response: ServerResponse,
    resources: DisposableStack,
  ): Promise<{ key: string; principal: Principal }> {
    const { authorization, 'x-api-key': header } = request.headers
    const fault = authorization === undefined && header === undefined ? '' : ', error="invalid_token"'
    try {
      const key = presentedKey(request.headers)
      const principal = await admit(this.#parts, key, MESSAGE, {
        connection: request.socket,
        onEnter: (flight) => void resources.use(flight),
        onCount: (rate) => setHeaders(response, rate),
      })
      return { key, principal }
    } catch (error) {
      if (error instanceof Refusal && error.status === 401)
        response.setHeader('www-authenticate', `Bearer realm="ukiyo"${fault}`)
      throw error
    }
  }
}

interface AgentMessage {
  request: IncomingMessage
  requestId: Id
  body: Buffer
  key: string
  principal: Principal
  life: CallLife
  resources: DisposableStack
}

class KeyAgent implements AdmittedAgent {
  readonly requestId: Id
  readonly origin: string
  readonly body: Buffer
  readonly signal: AbortSignal
  readonly #parts: AgentParts
  readonly #message: AgentMessage
  /** A field, so that it can be passed without its object. */
  readonly nextPiece = (): Promise<void> => nextPiece(this.#message.principal.accountId)

  constructor(parts: AgentParts, message: AgentMessage) {
    this.#parts = parts
    this.#message = message
    this.requestId = message.requestId
    this.origin = parts.engine.config.publicUrl ?? `http://${message.request.headers.host}`
    this.body = message.body
    this.signal = message.life.leaveSignal
  }

  may(scope: Scope | null): boolean {
    return scope === null || hasScope(this.#message.principal, scope)
  }

  call(name: string, input: unknown, consented = false): Promise<EndpointReply> {
    return logScope.run({ request_id: this.requestId }, () => this.#invoke(name, input, consented))
  }

  question(name: string, input: unknown): string {
    return questionOf(this.#parts.engine, { principal: this.#message.principal, name, input })
  }

  redeem(question: string, name: string, input: unknown): Promise<void> {
    return redeem(this.#parts.engine, question, { principal: this.#message.principal, name, input })
  }

  refusal(error: unknown): ErrorBody {
    const { body, fault } = refusedAnswer(error)
    // An error after the caller left or the server started to close isn't a fault.
    if (fault !== null && !this.#message.life.over.signal.aborted)
      this.#parts.engine.log.error({ error: fault, request_id: this.requestId }, 'a call of the agent tool failed')
    return body
  }

  [Symbol.dispose](): void {
    this.#message.resources.dispose()
  }

  async #invoke(name: string, input: unknown, consented: boolean): Promise<EndpointReply> {
    const { line, versions, origins } = this.#parts
    const { principal, request, key, life, resources } = this.#message
    if (deeperThan(input, DEEPEST))
      refuse('invalid_parameter', {
        param: 'input',
        message: `\`input\` can be nested up to ${DEEPEST} levels deep.`,
      })
    this.#count(name)
    const ctx = line.context({
      principal,
      requestId: this.requestId,
      version: versions.newest,
      signal: life.over.signal,
      caller: origins.callerOf(request),
      agent: { consented },
    })
    const ready = await line.admit(ctx, name, input)
    // A reader may stop early: the stream ends with the request.
    if (ready.entry.endpoint.reply.kind === 'stream') resources.defer(() => life.over.abort())
    const result = await ready.entry.handle(ready.ctx, ready.input)
    return replyTo(this.#parts, ready, result, { key, connection: request.socket, over: life.over })
  }

  #count(name: string): void {
    const { line, limits } = this.#parts
    const limit = limitOf(line.entries.get(name)?.endpoint)
    if (limit !== 'reads') limits.take(countedAs(this.#message.principal), limit)
  }
}

function lifeOf(response: ServerResponse, closes: AbortSignal): CallLife {
  const over = new AbortController()
  const leaveController = new AbortController()
  const end = () => over.abort()
  response.once('close', () => {
    if (response.writableFinished) return
    end()
    leaveController.abort()
  })
  closes.addEventListener('abort', end)
  return {
    leaveSignal: leaveController.signal,
    over,
    [Symbol.dispose]: () => closes.removeEventListener('abort', end),
  }
}
