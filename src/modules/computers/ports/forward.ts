/** Forwards HTTP requests and upgrades to a program over a tunnel to its computer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { Refusal } from '#core/errors.ts'
import { requestHead, responseHead } from './heads.ts'
import type { Tunnel } from './tunnel.ts'

// Not imported: an import evaluates all exports of the module, and some load all of Node's `fetch` (10 MB).
const http = process.getBuiltinModule('node:http')

/** The time that a program has to send its response head. */
const HEAD_MS = 120_000

export interface Target {
  connection: Tunnel
  port: number
  /** The protocol of the client's connection. */
  protocol: 'http' | 'https'
}

const send = (request: IncomingMessage, { connection, protocol }: Target, upgrade: boolean) =>
  http.request({
    createConnection: () => connection,
    method: request.method!,
    path: pathOf(request.url!),
    setHost: false,
    // Keeps the order and the duplicates of the fields.
    headers: requestHead({
      method: request.method!,
      rawHeaders: request.rawHeaders,
      host: request.headers.host!,
      protocol,
      upgrade,
    }),
  })

/** Resolves when the response is closed. Rejects with a refusal if the program sent no valid response head. */
export const forwardRequest = (request: IncomingMessage, response: ServerResponse, target: Target): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    const { port } = target
    response.once('close', resolve)
    const out = send(request, target, false)
    const late = setTimeout(() => {
      reject(new Refusal('timeout', { message: `The program on port ${port} didn’t respond.` }))
      out.destroy()
    }, HEAD_MS)
    out.once('error', () => {
      clearTimeout(late)
      if (response.headersSent) return void response.destroy()
      reject(
        new Refusal('upstream_error', {
          message: `The program on port ${port} closed the connection or doesn’t support HTTP.`,
        }),
      )
    })
    out.once('response', (answer) => {
      clearTimeout(late)
      try {
        response.writeHead(answer.statusCode!, answer.statusMessage, responseHead(answer.rawHeaders))
      } catch {
        return reject(new Refusal('upstream_error', { message: 'The program’s response isn’t valid HTTP.' }))
      }
      response.flushHeaders()
      answer.once('error', () => response.destroy()).once('close', () => void (answer.complete || response.destroy()))
      answer.pipe(response)
    })
    request.once('error', () => out.destroy())
    request.pipe(out)
  })

/** Resolves when the socket is closed. Rejects with a refusal if the program doesn't answer the upgrade. */
export const forwardUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer, target: Target): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    const { connection, port } = target
    socket.once('close', resolve)
    const out = send(request, target, true)
    const late = setTimeout(() => out.destroy(), HEAD_MS)
    out.once('error', () => {
      clearTimeout(late)
      reject(new Refusal('upstream_error', { message: `The program on port ${port} closed the connection.` }))
    })
    const writeHead = (answer: IncomingMessage, fields: string[]): boolean => {
      clearTimeout(late)
      return socket.write(
        headOf(answer.statusCode!, answer.statusMessage!, [...responseHead(answer.rawHeaders), ...fields]),
        'latin1',
      )
    }
    out.once('upgrade', (answer, _, first) => {
      writeHead(answer, ['Connection', 'Upgrade', 'Upgrade', 'websocket'])
      if (first.length > 0) socket.write(first)
      if (head.length > 0) connection.write(head)
      connection.pipe(socket)
      socket.pipe(connection)
    })
    out.once('response', (answer) => {
      writeHead(answer, ['Connection', 'close'])
      answer.pipe(socket)
    })
    out.end()
  })

export const headOf = (status: number, reason: string, fields: readonly string[]): string => {
  let head = `HTTP/1.1 ${status} ${reason}\r\n`
  for (let i = 0; i < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`
  return `${head}\r\n`
}

/** The path of a request, whose target may be an absolute URL (RFC 9112, 3.2.2). */
export function pathOf(url: string): string {
  if (url.startsWith('/')) return url
  const { pathname, search } = URL.canParse(url) ? new URL(url) : { pathname: '/', search: '' }
  return pathname + search
}
