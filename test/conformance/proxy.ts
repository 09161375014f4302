import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A loopback proxy that adds a key and changes nothing else: the conformance runner cannot send credentials, and what
 * it checks is in the headers. `await using proxy = await keyProxy(origin, key)`
 */
export async function keyProxy(origin: string, key: string): Promise<AsyncDisposable & { origin: string }> {
  const { hostname, port } = new URL(origin)
  const server = createServer((incoming, outgoing) => {
    const headers = [...incoming.rawHeaders, 'authorization', `Bearer ${key}`]
    const { method, url: path } = incoming
    const further = request({ hostname, port, method, path, headers, setHost: false }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.rawHeaders)
      answer.pipe(outgoing)
    })
    further.on('error', () => outgoing.destroy())
    outgoing.on('close', () => further.destroy())
    incoming.pipe(further)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
