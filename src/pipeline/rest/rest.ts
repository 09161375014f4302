import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from '#infra/context.ts'
import { logScope } from '#infra/log.ts'
import { asCaller } from '#infra/postgres/fair/callers.ts'
import { dropRemainder } from '#infra/bodies/slow-body.ts'
import { scopeOf } from '#core/access.ts'
import { type Bytes, type Event, isFeed } from '#core/answers.ts'
import type { Method } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, anonymous } from '#core/principal.ts'
import type { Entry } from '#core/registry.ts'
import { PIECE, charactersOf } from '#core/json/json-pieces.ts'
import { type PresentedCredential, admit, limitOf, readCredential } from '../admit.ts'
import { allowCors, answerPreflight } from '../cors.ts'
import type { Entrance } from '../entrance.ts'
import { createFollowers } from './feed.ts'
import { createIfMatch } from './if-match.ts'
import { readInput } from './input.ts'
import { type Life, lifeOf } from './life.ts'
import { type CallStart, callerOf, permitNow } from '../invoke.ts'
import { envelope, isBackground } from './reply.ts'
import { type Match, createRouter } from './router.ts'
import { sendBytes } from './send-bytes.ts'
import { EVENT_STREAM, sendEvents } from './sse.ts'
import { Watch, checkAgain, whilePermitted } from '../watch.ts'
import { clientRequestId, echoClientRequestId, sendJson, sendLargeJson, sendRefusal, setHeaders } from './write.ts'

export const LAST_WORDS_MS = 500

export interface RestParts extends Entrance {
  closing: AbortSignal
  late: AbortSignal
}

interface AdmittedCall {
  entry: Entry<Context>
  values: readonly string[]
  request: IncomingMessage
  response: ServerResponse
  search: string
  credential: PresentedCredential
  start: CallStart
  life: Life
  resources: DisposableStack
  flight: Disposable | null
  isFollowed: boolean
}

export const createRest = (parts: RestParts): RestHandler['handle'] => new RestHandler(parts).handle

class RestHandler {
  readonly #parts: RestParts
  readonly #router: ReturnType<typeof createRouter<Entry<Context>>>
  readonly #checkIfMatch: ReturnType<typeof createIfMatch>
  readonly #followers: ReturnType<typeof createFollowers>

  constructor(parts: RestParts) {
    this.#parts = parts
    const { line, versions, authority, closing } = parts
    this.#router = createRouter(
      [...line.entries.values()].map((entry) => ({
        method: entry.endpoint.method,
        path: entry.endpoint.path,
        greedy: entry.endpoint.greedy === true,
        to: entry,
      })),
    )
    this.#checkIfMatch = createIfMatch(line.entries.values(), versions)
    this.#followers = createFollowers(authority, line, closing)
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse, requestId: Id): void => {
    const client_request_id = clientRequestId(request)
    const scope = { request_id: requestId, ...(client_request_id !== null && { client_request_id }) }
    // If even the refusal can't be written, only this request fails.
    const broken = (error: unknown): void => {
      this.#parts.engine.log.error({ error, request_id: requestId }, 'cannot respond to a request')
      response.destroy()
    }
    logScope.run(scope, () => void this.#rest(request, response, requestId).catch(broken))
  }

  async #rest(request: IncomingMessage, response: ServerResponse, requestId: Id): Promise<void> {
    const { engine, late, metrics } = this.#parts
    const startedAt = performance.now()
    let entry: Entry<Context> | null = null
    try {
      allowCors(request, response)
      echoClientRequestId(request, response)
      const url = request.url!
      const mark = url.indexOf('?')
      // Someone opened the address in a browser: redirect to the app.
      if (url === '/' && (request.method === 'GET' || request.method === 'HEAD'))
        return void response.writeHead(302, { location: '/app' }).end()
      const path = restPath(mark < 0 ? url : url.slice(0, mark))
      const match = path === null ? null : this.#router.find(path)
      if (request.method === 'OPTIONS' && match) {
        for (const { endpoint } of match.methods.values()) setHeaders(response, endpoint.capabilities ?? {})
        return answerPreflight(response, match.methods.keys())
      }
      entry = entryFor(request, match)
      await this.#answer(entry, match!.values, request, response, requestId, mark < 0 ? '' : url.slice(mark + 1))
    } catch (error) {
      const isInterrupted = late.aborted && error instanceof Error && error.name === 'AbortError'
      sendRefusal(request, response, isInterrupted ? late.reason : error, requestId, engine.log)
    } finally {
      dropRemainder(request)
      metrics.request(entry?.name ?? 'unmatched', response.statusCode, (performance.now() - startedAt) / 1000)
    }
  }

  async #answer(
    entry: Entry<Context>,
    values: readonly string[],
    request: IncomingMessage,
    response: ServerResponse,
    requestId: Id,
    search: string,
  ): Promise<void> {
    const { origins, closing, late } = this.#parts
    const { endpoint } = entry
    const { access } = endpoint
    const { headers, socket: connection } = request
    // Checked before the key: this endpoint accepts none, valid or not.
    if (access.kind === 'session' && (headers.authorization ?? headers['x-api-key']) !== undefined)
      refuse('cookie_session_required')
    const credential = readCredential(headers, origins.cookieName)
    this.#checkDoor(entry, credential, request)
    const isOpen = access.kind === 'open' || access.kind === 'secret'
    using resources = new DisposableStack()
    let flight: Disposable | null = null
    let version = ''
    const speak = (principal: Principal): void => {
      version = this.#versionOf(headers['x-service-version'], principal)
      response.setHeader('x-service-version', version)
    }
    let principal = anonymous
    // Sign-in attempts are rate-limited where the password is checked.
    if (access.kind === 'sign_in') speak(principal)
    else
      principal = await admit(
        this.#parts,
        isOpen ? { address: origins.clientIp(request) } : credential,
        { limit: limitOf(endpoint), scope: scopeOf(access) },
        {
          connection,
          onEnter: (slot) => void (flight = resources.use(slot)),
          onCount(rate, caller) {
            if (!isOpen) setHeaders(response, rate)
            speak(caller)
          },
        },
      )

    // Followed work ends with its caller; a call that changes data finishes.
    const { reply } = endpoint
    const callers =
      reply.kind === 'stream' ? reply.belongs === 'caller' : reply.kind === 'operation' && 'events' in reply
    const goesAtOnce = !callers && (endpoint.reply.kind === 'stream' || endpoint.method === 'GET')
    using life = lifeOf(response, goesAtOnce ? closing : late)
    const start = { principal, requestId, version, signal: life.signal, caller: origins.callerOf(request) }
    await asCaller(callerOf(start, entry), () =>
      this.#serve({
        entry,
        values,
        request,
        response,
        search,
        credential,
        start,
        life,
        resources,
        flight,
        isFollowed: callers,
      }),
    )
  }

  async #serve(call: AdmittedCall): Promise<void> {
    const { entry, request, response, credential, start, life, resources, flight, isFollowed } = call
    const { endpoint } = entry
    const { headers, socket: connection } = request
    const { authority, line, versions, closing } = this.#parts
    const ctx = line.context(start)
    if (endpoint.reply.kind === 'operation' && endpoint.reply.events && acceptsEvents(headers)) ctx.wantsEvents = true
    const input = await readInput(ctx, call, versions)
    await permitNow(ctx, entry, input)
    start.principal = ctx.principal
    if (headers['if-match'] !== undefined) await this.#checkIfMatch(ctx, entry, input, headers['if-match'])
    // A HEAD of a stream is answered here, because a stream has no end to wait for.
    if (endpoint.reply.kind === 'stream' && request.method === 'HEAD')
      return void response.writeHead(200, EVENT_STREAM).end()
    if (ctx.upload !== null && ctx.principal !== anonymous) {
      let hasChanged = false
      resources.use(authority.onChange(ctx.principal.accountId, () => (hasChanged = true)))
      ctx.upload = {
        ...ctx.upload,
        bytes: whilePermitted(
          ctx.upload.bytes,
          () => hasChanged,
          async () => {
            hasChanged = false
            ctx.principal = (
              await checkAgain(authority, line, { start, entry, input, credential, connection })
            ).principal
          },
        ),
      }
    }
    // Access to a computer is rechecked as long as its bytes and commands flow.
    if (endpoint.access.kind === 'resource' && endpoint.access.capability !== undefined)
      resources.use(
        new Watch(
          authority,
          line,
          { start, entry, input, credential, connection },
          { close: life.end, onPermitted: async () => {} },
        ),
      )
    const result = await entry.handle(ctx, input)

    setHeaders(response, ctx.answer.headers)
    if (ctx.answer.session !== undefined) this.#setSessionCookie(response, ctx.answer.session)
    if (endpoint.reply.kind === 'stream' || isEvents(result)) {
      const events = result as AsyncIterable<Event>
      const watchedCall = { start: { ...start, signal: closing }, entry, input, credential, connection }
      if (isFeed(events)) {
        resources.move()
        return this.#followers.add(response, events, watchedCall, flight)
      }
      using _watch = new Watch(authority, line, watchedCall, { close: life.end, onPermitted: async () => {} })
      return await sendEvents(response, {}, events, life.signal, isFollowed ? LAST_WORDS_MS : 0)
    }
    if (endpoint.reply.kind === 'bytes')
      return await sendBytes(request, response, result as Bytes, life.signal, callerOf(start, entry).name)
    const status = ctx.answer.status ?? (isBackground(result) ? 202 : (endpoint.status ?? 200))
    if (endpoint.reply.kind === 'none') return void response.writeHead(ctx.answer.status ?? 204).end()
    const body = versions.lower(start.version, entry.name, envelope(endpoint.reply, result, input)) as object
    const isTagged = endpoint.method === 'GET' && endpoint.reply.kind === 'one'
    if (charactersOf(body) < PIECE) return sendJson(request, response, status, JSON.stringify(body), isTagged)
    await sendLargeJson(request, response, status, body, { isTagged, account: callerOf(start, entry).name })
  }

  #checkDoor(
    { endpoint: { access, method } }: Entry<Context>,
    credential: PresentedCredential,
    request: IncomingMessage,
  ): void {
    const { origins } = this.#parts
    const session = typeof credential !== 'string'
    if (session || access.kind === 'sign_in') origins.checkHost(request)
    if (method === 'GET' || access.kind === 'open' || access.kind === 'secret') return
    if (access.kind === 'sign_in' || (session && credential !== null)) origins.checkCrossSite(request)
  }

  #versionOf(requestedVersion: string | string[] | undefined, { credential }: Principal): string {
    if (requestedVersion !== undefined) return this.#parts.versions.check(String(requestedVersion))
    return credential.kind === 'key' ? credential.version : this.#parts.versions.newest
  }

  #setSessionCookie(response: ServerResponse, session: { token: string; expiresAt: Date } | null): void {
    const rest = `Path=/; HttpOnly; SameSite=Lax${this.#parts.origins.secure ? '; Secure' : ''}`
    response.setHeader(
      'set-cookie',
      session === null
        ? `${this.#parts.origins.cookieName}=; Max-Age=0; ${rest}`
        : `${this.#parts.origins.cookieName}=${session.token}; Expires=${session.expiresAt.toUTCString()}; ${rest}`,
    )
  }
}

function entryFor(request: IncomingMessage, match: Match<Entry<Context>> | null): Entry<Context> {
  if (match === null)
    return refuse('not_found', { message: 'This path doesn’t exist. `GET /v1/openapi.json` lists all paths.' })
  const method = (request.method === 'HEAD' ? 'GET' : request.method) as Method
  const entry = match.methods.get(method)
  if (entry && entry.endpoint.refused === undefined) return entry
  const allow = [...match.methods]
    .filter(([, { endpoint }]) => endpoint.refused === undefined)
    .flatMap(([allowed]) => (allowed === 'GET' ? ['GET', 'HEAD'] : [allowed]))
    .join(', ')
  if (entry) return refuse(entry.endpoint.refused!, { headers: { allow } })
  return refuse('method_not_allowed', { message: `This path supports ${allow}.`, headers: { allow } })
}

const acceptsEvents = ({ accept = '' }: IncomingHttpHeaders): boolean => /\btext\/event-stream\b/i.test(accept)

const isEvents = (result: unknown): result is AsyncIterable<Event> =>
  result !== null && typeof result === 'object' && Symbol.asyncIterator in result

/** The path below `/v1`. `/auth` and `/admin` are also served at the root. Null: not a REST path. */
function restPath(path: string): string | null {
  if (path.startsWith('/v1/')) return path.slice(3)
  return /^\/(auth|admin)\//.test(path) ? path : null
}
