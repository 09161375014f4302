/** Mounted into every cloud computer. Serves only the link. */
import { chmodSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type Socket, connect } from 'node:net'
import { join } from 'node:path'
import { Refusal, errorBody } from '#core/errors.ts'
import type { UpgradeMount } from '#core/http/exchange.ts'
import { type Id, newId } from '#core/ids.ts'

const PATH = '/v1/computers/link'

/** Unauthenticated connections. Any program in a sandbox can open them, and each uses a descriptor. */
const MAX_UNAUTHENTICATED = 64
/** Separate from the lookups of network connections. */
const MAX_LOOKUPS = 16
/** The time for request headers. It counts even if no byte arrives. */
const HEAD_MS = 5_000
const LAST_WORDS_MS = 1_000

export async function listenForDaemons(folder: string, processId: Id, mount: UpgradeMount): Promise<AsyncDisposable> {
  await removeDead(folder)
  const limits = { headersTimeout: HEAD_MS, requestTimeout: HEAD_MS, connectionsCheckingInterval: 1_000 }
  const server = createServer({ ...limits, maxHeaderSize: 8_192 }, (_, response) => {
    response.writeHead(404, { connection: 'close' }).end()
  })
  const all = new Set<Socket>()
  const unknown = new Set<Socket>()
  let lookups = 0
  server.on('connection', (socket: Socket) => {
    if (unknown.size >= MAX_UNAUTHENTICATED) return void socket.destroy()
    unknown.add(socket)
    all.add(socket)
    socket.once('close', () => {
      unknown.delete(socket)
      all.delete(socket)
    })
  })
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {})
    // The client may never read or close.
    const leave = (answer: string): void => void socket.end(answer, () => socket.destroy())
    if (request.url !== PATH) return leave('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n')
    const sendRefusal = (error: unknown): void => {
      const refusal = error instanceof Refusal ? error : new Refusal('internal_error')
      const body = JSON.stringify(errorBody(refusal))
      leave(
        `HTTP/1.1 ${refusal.status} Refused\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    }
    if (lookups >= MAX_LOOKUPS) return sendRefusal(new Refusal('unavailable'))
    lookups++
    mount
      .upgrade(request, socket, head, newId())
      // Authenticated: a machine has a single link.
      .then(() => unknown.delete(socket as Socket))
      .catch(sendRefusal)
      .finally(() => lookups--)
  })
  const path = join(folder, `${processId}.sock`)
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  // Computers run under different accounts.
  chmodSync(path, 0o666)
  server.unref()
  return {
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      // Links keep the server open, so they are destroyed after a delay.
      mount.end?.()
      const late = setTimeout(() => {
        for (const socket of all) socket.destroy()
      }, LAST_WORDS_MS)
      await closed
      clearTimeout(late)
    },
  }
}

async function removeDead(folder: string): Promise<void> {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.sock')) continue
    const path = join(folder, name)
    if (!(await answers(path))) rmSync(path, { force: true })
  }
}

const answers = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket
      .once('connect', () => {
        socket.destroy()
        resolve(true)
      })
      .once('error', () => resolve(false))
  })
