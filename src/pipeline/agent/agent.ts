import type { EndpointReply } from '#core/answers.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { nextPiece } from '#packages/fair-queue/slices.ts'
import type { Context } from '#infra/context.ts'
import { logScope } from '#infra/log.ts'
import { type Bytes, type Event, isFeed } from '#core/answers.ts'
import { type ErrorBody, Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, hasScope } from '#core/principal.ts'
import { checkShape } from '#core/json/json-text.ts'
import type { Entry } from '#core/registry.ts'
import type { Scope } from '#core/scopes.ts'
import { admit, countedAs, limitOf, presentedKey } from '../admit.ts'
import { allowCors, answerPreflight } from '../cors.ts'
import type { Entrance } from '../entrance.ts'
import type { Ready } from '../invoke.ts'
import { questionOf, redeem } from './consents.ts'
import { deeperThan, readBytes } from '../rest/read.ts'
import { envelope, refusedAnswer } from '../rest/reply.ts'
import { Watch } from '../watch.ts'
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

/**
 * Connects the agent tool to the pipeline. It accepts only keys, so cross-site checks aren't needed. Each message
 * counts as a read, and each call also counts in its endpoint's class. It always uses the newest contract version, the
 * one it describes.
 */
export function createAgentDoor({
  engine,
  line,
  authority,
  limits,
  versions,
  origins,
  metrics,
  closing,
}: AgentParts): AgentDoor {
  async function hear(
    request: IncomingMessage,
    response: ServerResponse,
    requestId: Id,
  ): Promise<AdmittedAgent | null> {
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
    const { key, principal } = await enter(request, response, stack)
    const life = stack.use(lifeOf(response))
    const body = await readBytes(request, BODY_LIMIT, principal.accountId, stack)
    checkShape(body, DEEPEST + ENVELOPE)
    const resources = stack.move()
    return {
      requestId,
      origin: engine.config.publicUrl ?? `http://${request.headers.host}`,
      body,
      signal: life.leaveSignal,
      nextPiece: () => nextPiece(principal.accountId),
      may: (scope) => scope === null || hasScope(principal, scope),
      call: (name, input, consented = false) =>
        logScope.run({ request_id: requestId }, async () => {
          if (deeperThan(input, DEEPEST))
            refuse('invalid_parameter', {
              param: 'input',
              message: `\`input\` can be nested up to ${DEEPEST} levels deep.`,
            })
          count(principal, name)
          const ctx = line.context({
            principal,
            requestId,
            version: versions.newest,
            signal: life.over.signal,
            caller: origins.callerOf(request),
            agent: { consented },
          })
          const ready = await line.admit(ctx, name, input)
          // A reader may stop early: the stream ends with the request.
          if (ready.entry.endpoint.reply.kind === 'stream') resources.defer(() => life.over.abort())
          return toReply(ready, await ready.entry.handle(ready.ctx, ready.input), key, request.socket, life.over)
        }),
      question: (name, input) => questionOf(engine, { principal, name, input }),
      redeem: (question, name, input) => redeem(engine, question, { principal, name, input }),
      refusal(error) {
        const { body, fault } = refusedAnswer(error)
        // An error after the caller left or the server started to close isn't a fault.
        if (fault !== null && !life.over.signal.aborted)
          engine.log.error({ error: fault, request_id: requestId }, 'a call of the agent tool failed')
        return body
      },
      [Symbol.dispose]: () => resources.dispose(),
    }
  }

  /**
   * Authenticates the message's key. A 401 names the required scheme and whether the sent credential was invalid (RFC
   * 6750, 3).
   */
  async function enter(
    request: IncomingMessage,
    response: ServerResponse,
    resources: DisposableStack,
  ): Promise<{ key: string; principal: Principal }> {
    const { authorization, 'x-api-key': header } = request.headers
    const fault = authorization === undefined && header === undefined ? '' : ', error="invalid_token"'
    try {
      const key = presentedKey(request.headers)
      const principal = await admit({ authority, limits }, key, MESSAGE, {
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

  function count(principal: Principal, name: string): void {
    const limit = limitOf(line.entries.get(name)?.endpoint)
    if (limit !== 'reads') limits.take(countedAs(principal), limit)
  }

  function toReply(
    ready: Ready,
    result: unknown,
    key: string,
    connection: object,
    over: AbortController,
  ): EndpointReply {
    const { endpoint } = ready.entry
    switch (endpoint.reply.kind) {
      case 'stream':
        return {
          kind: 'stream',
          events: watchEvents(ready, result as AsyncIterable<Event>, key, connection, over),
          ended: over.signal,
        }
      case 'bytes':
        return { kind: 'bytes', bytes: result as Bytes }
      case 'none':
        return { kind: 'none' }
      default:
        return { kind: 'json', body: envelope(endpoint.reply, result, ready.input) as Record<string, unknown> }
    }
  }

  async function* watchEvents(
    ready: Ready,
    events: AsyncIterable<Event>,
    key: string,
    connection: object,
    over: AbortController,
  ): AsyncGenerator<Event> {
    using _watch = new Watch(
      authority,
      line,
      { start: ready.ctx, entry: ready.entry, input: ready.input, credential: key, connection },
      {
        close: (why) => over.abort(why),
        async onPermitted(ctx) {
          if (isFeed(events)) await events.recheck(ctx)
        },
      },
    )
    yield* events
  }

  /** `leaveSignal` fires when the caller leaves; `over` also when the server closes or a stream's request ends. */
  function lifeOf(response: ServerResponse): Disposable & { leaveSignal: AbortSignal; over: AbortController } {
    const over = new AbortController()
    const leaveController = new AbortController()
    const end = () => over.abort()
    const closes = closing()
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

  return { endpoints: [...line.entries.values()], admit: hear }
}
