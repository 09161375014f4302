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

export function createDoor(parts: DoorParts): Door {
  const { engine, versions } = parts
  const mounts = parts.mounts.toSorted((a, b) => b.prefix.length - a.prefix.length)
  const closing = new AbortController()
  const late = new AbortController()
  const rest = createRest({ ...parts, closing: closing.signal, late: late.signal })
  let draining = false
  const upgrades = createUpgrades({
    mounts: parts.upgrades,
    hosts: parts.hosts,
    version: versions.newest,
    log: engine.log,
  })

  const server = createServer({
    keepAliveTimeout: KEEP_ALIVE_SECONDS * 1_000,
    // A large file may take hours. Slow senders are dropped by the readers: `readBytes`, `upload.ts`, the gateways.
    requestTimeout: 0,
    headersTimeout: 60_000,
    maxHeaderSize: 32_768,
    // Node's own refusal would lack our headers.
    requireHostHeader: false,
    shouldUpgradeCallback: upgrades.wants,
  })
  const mountOf = (url: string) => mounts.find(({ prefix }) => url.startsWith(prefix))
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const requestId = newId()
    useOriginForm(request)
    const url = request.url!
    const wrong = wrongFields(request)
    if (wrong === null && parts.hosts.owns(request.headers.host)) {
      if (draining) response.setHeader('connection', 'close')
      return void parts.hosts.handle(request, response).finally(() => boundRemainder(request))
    }
    const mount = mountOf(url)
    if (mount?.ownHead !== true || wrong !== null) {
      response.setHeader('x-request-id', requestId)
      response.setHeader('x-service-version', versions.newest)
    }
    if (draining) response.setHeader('connection', 'close')
    if (wrong !== null) {
      allowCors(request, response)
      sendWrittenRefusal(request, response, writeRefusal(mount, wrong, requestId))
      return boundRemainder(request)
    }
    if (mount) {
      // Mounts encode their own refusals; any other error is a fault.
      try {
        const result = mount.handle(request, response, requestId)
        if (result)
          result
            .catch((error: unknown) => sendRefusal(request, response, error, requestId, engine.log))
            .finally(() => boundRemainder(request))
        else if (mount.ownHead !== true) boundRemainder(request)
      } catch (error) {
        sendRefusal(request, response, error, requestId, engine.log)
        boundRemainder(request)
      }
      return
    }
    rest(request, response, requestId)
  }
  server.on('request', take)
  // Unknown expectations may be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', take)
  server.on('upgrade', (request, socket, head) => upgrades.take(request, socket, head, draining))
  server.on('clientError', (error, socket) =>
    answerMalformed(
      error,
      socket,
      versions.newest,
      (url, why, requestId) => writeRefusal(mountOf(url), why, requestId).body,
    ),
  )
  const fast = engine.config.fastHttp ? answerMountsFast(server, parts, KEEP_ALIVE_SECONDS, engine.log) : null

  return {
    server,
    draining: () => draining,
    closing: closing.signal,
    async drain(seconds) {
      draining = true
      // Streams end at once (readers resume elsewhere); other requests finish.
      closing.abort()
      upgrades.drain()
      parts.hosts.end()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const closeIdle = () => {
        server.closeIdleConnections()
        fast?.close()
      }
      const closeAll = () => {
        server.closeAllConnections()
        upgrades.closeAll()
        fast?.closeAll()
      }
      closeIdle()
      let timer = setTimeout(() => {
        const why = new Refusal('shutting_down', { headers: { 'retry-after': '1' } })
        late.abort(why)
        for (const interrupt of new Set(mounts.map((mount) => mount.interrupt))) interrupt?.(why)
        timer = setTimeout(closeAll, LAST_WORDS_MS)
      }, seconds * 1000)
      const idle = setInterval(closeIdle, 50)
      await closed
      clearTimeout(timer)
      clearInterval(idle)
      fast?.closeAll()
    },
  }
}

const KEEP_ALIVE_SECONDS = 65

const writeRefusal = (mount: Mount | undefined, why: Refusal, requestId: Id): WrittenRefusal =>
  mount?.refusal?.(why, requestId) ?? refusedAnswer(why)
