import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { boundRemainder } from '#infra/bodies/slow-body.ts'
import { Refusal } from '#core/errors.ts'
import type { HostMount, Mount, UpgradeMount, WrittenRefusal } from '#core/http/exchange.ts'
import { type Id, newId } from '#core/ids.ts'
import { allowCors } from './cors.ts'
import type { Entrance } from './entrance.ts'
import { wrongFields } from './head/fields.ts'
import { answerMalformed } from './head/malformed.ts'
import { answerMountsFast } from './fast-mounts.ts'
import { refusedAnswer } from './rest/reply.ts'
import { LAST_WORDS_MS, createRest } from './rest/rest.ts'
import { sendRefusal, sendWrittenRefusal } from './rest/write.ts'
import { useOriginForm } from './head/target.ts'
import { createUpgrades } from './upgrade/upgrades.ts'

// Not imported: an import evaluates all exports and loads Node's `fetch`, 10 MB.
const { createServer } = process.getBuiltinModule('node:http')

export interface Door {
  server: Server
  drain(seconds: number): Promise<void>
  draining(): boolean
  closing: AbortSignal
}

export interface DoorParts extends Entrance {
  mounts: readonly Mount[]
  upgrades: readonly UpgradeMount[]
  hosts: HostMount
}

export const createDoor = (parts: DoorParts): Door => new HttpDoor(parts)

class HttpDoor implements Door {
  readonly server: Server
  readonly #parts: DoorParts
  readonly #mounts: readonly Mount[]
  readonly #rest: ReturnType<typeof createRest>
  readonly #upgrades: ReturnType<typeof createUpgrades>
  readonly #fast: ReturnType<typeof answerMountsFast> | null
  readonly #closing = new AbortController()
  readonly #late = new AbortController()
  #isDraining = false

  constructor(parts: DoorParts) {
    const { engine, versions } = parts
    this.#parts = parts
    this.#mounts = parts.mounts.toSorted((a, b) => b.prefix.length - a.prefix.length)
    this.#rest = createRest({ ...parts, closing: this.#closing.signal, late: this.#late.signal })
    const upgrades = createUpgrades({
      mounts: parts.upgrades,
      hosts: parts.hosts,
      version: versions.newest,
      log: engine.log,
    })
    this.#upgrades = upgrades
    this.server = createServer({
      keepAliveTimeout: KEEP_ALIVE_SECONDS * 1_000,
      // A large file may take hours. Slow senders are dropped by the readers: `readBytes`, `upload.ts`, the gateways.
      requestTimeout: 0,
      headersTimeout: 60_000,
      maxHeaderSize: 32_768,
      // Node's own refusal would lack our headers.
      requireHostHeader: false,
      shouldUpgradeCallback: upgrades.wants,
    })
    const take = (request: IncomingMessage, response: ServerResponse): void => this.#take(request, response)
    this.server.on('request', take)
    // Unknown expectations may be ignored (RFC 9110, 10.1.1).
    this.server.on('checkExpectation', take)
    this.server.on('upgrade', (request, socket, head) => upgrades.take(request, socket, head, this.#isDraining))
    this.server.on('clientError', (error, socket) =>
      answerMalformed(
        error,
        socket,
        versions.newest,
        (url, why, requestId) => writeRefusal(this.#mountOf(url), why, requestId).body,
      ),
    )
    this.#fast = engine.config.fastHttp ? answerMountsFast(this.server, parts, KEEP_ALIVE_SECONDS, engine.log) : null
  }

  draining(): boolean {
    return this.#isDraining
  }

  get closing(): AbortSignal {
    return this.#closing.signal
  }

  async drain(seconds: number): Promise<void> {
    this.#isDraining = true
    // Streams end at once (readers resume elsewhere); other requests finish.
    this.#closing.abort()
    this.#upgrades.drain()
    this.#parts.hosts.end()
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    this.#closeIdle()
    let timer = setTimeout(() => {
      const why = new Refusal('shutting_down', { headers: { 'retry-after': '1' } })
      this.#late.abort(why)
      for (const interrupt of new Set(this.#mounts.map((mount) => mount.interrupt))) interrupt?.(why)
      timer = setTimeout(() => this.#closeAll(), LAST_WORDS_MS)
    }, seconds * 1000)
    const idle = setInterval(() => this.#closeIdle(), 50)
    await closed
    clearTimeout(timer)
    clearInterval(idle)
    this.#fast?.closeAll()
  }

  #closeIdle(): void {
    this.server.closeIdleConnections()
    this.#fast?.close()
  }

  #closeAll(): void {
    this.server.closeAllConnections()
    this.#upgrades.closeAll()
    this.#fast?.closeAll()
  }

  #mountOf(url: string): Mount | undefined {
    return this.#mounts.find(({ prefix }) => url.startsWith(prefix))
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const { hosts, versions } = this.#parts
    const requestId = newId()
    useOriginForm(request)
    const url = request.url!
    const wrong = wrongFields(request)
    if (wrong === null && hosts.owns(request.headers.host)) {
      if (this.#isDraining) response.setHeader('connection', 'close')
      return void hosts.handle(request, response).finally(() => boundRemainder(request))
    }
    const mount = this.#mountOf(url)
    if (mount?.ownHead !== true || wrong !== null) {
      response.setHeader('x-request-id', requestId)
      response.setHeader('x-service-version', versions.newest)
    }
    if (this.#isDraining) response.setHeader('connection', 'close')
    if (wrong !== null) {
      allowCors(request, response)
      sendWrittenRefusal(request, response, writeRefusal(mount, wrong, requestId))
      return boundRemainder(request)
    }
    if (mount) this.#handle(mount, request, response, requestId)
    else this.#rest(request, response, requestId)
  }

  /** Mounts encode their own refusals; any other error is a fault. */
  #handle(mount: Mount, request: IncomingMessage, response: ServerResponse, requestId: Id): void {
    const { log } = this.#parts.engine
    try {
      const result = mount.handle(request, response, requestId)
      if (result)
        result
          .catch((error: unknown) => sendRefusal(request, response, error, requestId, log))
          .finally(() => boundRemainder(request))
      else if (mount.ownHead !== true) boundRemainder(request)
    } catch (error) {
      sendRefusal(request, response, error, requestId, log)
      boundRemainder(request)
    }
  }
}

const KEEP_ALIVE_SECONDS = 65

const writeRefusal = (mount: Mount | undefined, why: Refusal, requestId: Id): WrittenRefusal =>
  mount?.refusal?.(why, requestId) ?? refusedAnswer(why)
