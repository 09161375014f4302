import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Log } from '#infra/log.ts'
import { Refusal } from '#core/errors.ts'
import type { HostMount, UpgradeMount } from '#core/http/exchange.ts'
import { type Id, newId } from '#core/ids.ts'
import { wrongFields } from '../head/fields.ts'
import { refusedAnswer } from '../rest/reply.ts'
import { useOriginForm } from '../head/target.ts'

export interface Upgrades {
  /**
   * Called for each request with `Upgrade`. False: answers it as if the header were absent, as HTTP allows (RFC 9110,
   * 7.8).
   */
  wants(request: IncomingMessage): boolean
  take(request: IncomingMessage, socket: Duplex, head: Buffer, draining: boolean): void
  drain(): void
  closeAll(): void
}

export function createUpgrades(parts: {
  mounts: readonly UpgradeMount[]
  hosts: HostMount
  version: string
  log: Log
}): Upgrades {
  const { mounts, hosts, version, log } = parts
  const sockets = new Set<Duplex>()

  function mountOf({ url = '' }: IncomingMessage): UpgradeMount | undefined {
    const mark = url.indexOf('?')
    const path = mark < 0 ? url : url.slice(0, mark)
    return mounts.find((mount) => mount.owns(path))
  }

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, draining: boolean): Promise<void> {
    const requestId = newId()
    try {
      const wrong = wrongFields(request)
      if (wrong !== null) throw wrong
      if (hosts.owns(request.headers.host) && !draining) return await hosts.upgrade(request, socket, head)
      if (draining) throw new Refusal('shutting_down', { headers: { 'retry-after': '1' } })
      await mountOf(request)!.upgrade(request, socket, head, requestId)
    } catch (error) {
      const { fault, status, headers, body } = refusedAnswer(error)
      if (fault !== null) log.error({ error: fault, request_id: requestId }, 'an upgrade failed')
      refuseUpgrade(socket, { status, headers, body: JSON.stringify(body), requestId, version })
    }
  }

  return {
    wants(request) {
      if (request.headers.upgrade?.toLowerCase() !== 'websocket' || request.method !== 'GET') return false
      useOriginForm(request)
      return hosts.owns(request.headers.host) || mountOf(request) !== undefined
    },
    take(request, socket, head, draining) {
      sockets.add(socket)
      // `close` follows an error; before the WebSocket exists, nothing else listens for it.
      socket.on('error', () => {}).once('close', () => sockets.delete(socket))
      void upgrade(request, socket, head, draining)
    },
    drain() {
      for (const mount of mounts) mount.drain?.()
    },
    closeAll() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

interface RefusedUpgrade {
  status: number
  headers: Record<string, string>
  body: string
  requestId: Id
  version: string
}

function refuseUpgrade(socket: Duplex, { status, headers, body, requestId, version }: RefusedUpgrade): void {
  const fields = {
    'x-request-id': requestId,
    'x-service-version': version,
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`)
}
