/**
 * The way in for the daemons of cloud computers: a socket in a folder that is bound into each, and nothing but the
 * link.
 */
import { chmodSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type Socket, connect } from 'node:net'
import { join } from 'node:path'
import { Refusal, errorBody } from '#core/errors.ts'
import type { UpgradeMount } from '#core/exchange.ts'
import { type Id, newId } from '#core/ids.ts'

const PATH = '/v1/computers/link'

/** Connections of which nobody knows yet whose they are: anybody in a sandbox can open them, and each is a descriptor of the server's. */
const MOST_UNKNOWN = 64
/** Machines that are being looked up. Those that come over the network have turns of their own. */
const MOST_AT_ONCE = 16
/** The time for a connection's head, counted from its first byte or without one. */
const HEAD_MS = 5_000
/** The time that a stopping server takes to say that it stops. */
const LAST_WORDS_MS = 1_000

/** Listens under the name of this process. A daemon shows its credential, as everywhere. */
export async function listenForDaemons(folder: string, processId: Id, mount: UpgradeMount): Promise<AsyncDisposable> {
  await removeDead(folder)
  const limits = { headersTimeout: HEAD_MS, requestTimeout: HEAD_MS, connectionsCheckingInterval: 1_000 }
  const server = createServer({ ...limits, maxHeaderSize: 8_192 }, (_, response) => {
    response.writeHead(404, { connection: 'close' }).end()
  })
  const all = new Set<Socket>()
  const unknown = new Set<Socket>()
  let coming = 0
  server.on('connection', (socket: Socket) => {
    if (unknown.size >= MOST_UNKNOWN) return void socket.destroy()
    unknown.add(socket)
    all.add(socket)
    socket.once('close', () => {
      unknown.delete(socket)
      all.delete(socket)
    })
  })
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {})
    // The last answer is not waited for: the other end may never take it, nor close.
    const leave = (answer: string): void => void socket.end(answer, () => socket.destroy())
    if (request.url !== PATH) return leave('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n')
    const refused = (error: unknown): void => {
      const refusal = error instanceof Refusal ? error : new Refusal('internal_error')
      const body = JSON.stringify(errorBody(refusal))
      leave(
        `HTTP/1.1 ${refusal.status} Refused\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      )
    }
    if (coming >= MOST_AT_ONCE) return refused(new Refusal('unavailable'))
    coming++
    mount
      .upgrade(request, socket, head, newId())
      // The connection is a machine's from here on, which has one link.
      .then(() => unknown.delete(socket as Socket))
      .catch(refused)
      .finally(() => coming--)
  })
  const path = join(folder, `${processId}.sock`)
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  // The accounts of all computers come in here.
  chmodSync(path, 0o666)
  server.unref()
  return {
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      // A link is none of the server's connections, yet keeps it open: one that somebody uses would do so for ever.
      mount.end?.()
      const late = setTimeout(() => {
        for (const socket of all) socket.destroy()
      }, LAST_WORDS_MS)
      await closed
      clearTimeout(late)
    },
  }
}

/** Removes the sockets of processes that were killed. */
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
