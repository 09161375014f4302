import { type AddressInfo, type Server, createServer } from 'node:net'
import type { Config } from '#config'
import { StartRefused } from '#infra/start-refused.ts'

type Where = Pick<Config, 'host' | 'port'>

export function listen(server: Server, { host, port }: Where): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why: Record<string, string> = {
        EADDRINUSE: `port ${port} on ${host} is already in use: stop the other program, or set UK_PORT (0 picks a free port)`,
        EACCES: `this user isn't allowed to use port ${port} on ${host}: set UK_PORT to a port above 1023`,
        EADDRNOTAVAIL: `${host} isn't an address of this machine: set UK_HOST`,
        ENOTFOUND: `unknown host name ${host}: set UK_HOST`,
      }
      const line = why[error.code ?? '']
      reject(line === undefined ? error : new StartRefused(line))
    })
    server.listen(port, host, 4096, resolve)
  })
}

/**
 * Checks early, before a database is created, that the server can listen. Returns the port, which is a free one for
 * port 0.
 */
export async function tryPort(where: Where): Promise<number> {
  const server = createServer()
  await listen(server, where)
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/**
 * The server's address, such as `http://127.0.0.1:4242`. A server on all addresses still answers browsers only under an
 * allowed host name.
 */
export function originAt({ host, allowedHosts }: Pick<Config, 'host' | 'allowedHosts'>, port: number): string {
  const own = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host]
  const name = own === undefined ? host : (allowedHosts[0] ?? own)
  if (/^([^:]+|\[.*\]):\d+$/.test(name)) return `http://${name}`
  return `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`
}
