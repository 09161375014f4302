import { type IncomingMessage, type RequestOptions, createServer, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A proxy that alters responses of some paths. */
export interface TamperingProxy extends AsyncDisposable {
  origin: string
  /** Appends a byte to the responses of these paths. Null: none. */
  spoil(which: RegExp | null): void
  redirect(which: RegExp | null, where: string): void
  /** Sends new connections to another server and closes open ones. */
  to(origin: string): void
  paths: string[]
}

export async function tamperingProxy(first: string): Promise<TamperingProxy> {
  let target = first
  let spoilt: RegExp | null = null
  let redirected: [RegExp, string] | null = null
  const paths: string[] = []
  const sockets = new Set<Socket>()
  const onward = ({ method, url, headers }: IncomingMessage): [string, RequestOptions] => [
    `${target}${url}`,
    { method: method!, headers },
  ]
  const server = createServer((incoming, response) => {
    const path = incoming.url!
    paths.push(path)
    if (redirected?.[0].test(path)) return void response.writeHead(302, { location: `${redirected[1]}${path}` }).end()
    const further = request(...onward(incoming), (answer) => {
      const { 'content-length': _, ...headers } = answer.headers
      response.writeHead(answer.statusCode!, headers)
      answer.on('data', (part) => response.write(part)).on('end', () => response.end(spoilt?.test(path) ? 'x' : ''))
    })
    further.on('error', () => response.destroy())
    incoming.pipe(further)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  })
  server.on('upgrade', (incoming, near, head) => {
    const further = request(...onward(incoming))
    further.on('upgrade', (answer, far, rest) => {
      const lines = answer.rawHeaders.flatMap((name, i, all) => (i % 2 === 0 ? [`${name}: ${all[i + 1]}`] : []))
      near.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`)
      if (rest.length > 0) near.write(rest)
      if (head.length > 0) far.write(head)
      far.on('error', () => near.destroy()).on('close', () => near.destroy())
      near.on('error', () => far.destroy()).on('close', () => far.destroy())
      far.pipe(near)
      near.pipe(far)
    })
    further.on('response', () => near.destroy()).on('error', () => near.destroy())
    further.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const closeAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spoil: (which) => void (spoilt = which),
    redirect: (which, where) => void (redirected = which && [which, where]),
    to(origin) {
      target = origin
      closeAll()
    },
    paths,
    async [Symbol.asyncDispose]() {
      closeAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
