import { type AddressInfo, type Server, createServer } from 'node:net'
import type { Config } from '#config'
import { StartRefused } from '#infra/start-refused.ts'

type Where = Pick<Config, 'host' | 'port'>

/** Throws `StartRefused` with what to do about it. */
export function listen(server: Server, { host, port }: Where): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why: Record<string, string> = {
        EADDRINUSE: `port ${port} on ${host} is in use: stop what uses it, or set UK_PORT (0 takes a free one)`,
        EACCES: `port ${port} on ${host} may not be used by this user: set UK_PORT to one above 1023`,
        EADDRNOTAVAIL: `${host} is not an address of this machine: set UK_HOST`,
        ENOTFOUND: `${host} is not a known host name: set UK_HOST`,
      }
      const line = why[error.code ?? '']
      reject(line === undefined ? error : new StartRefused(line))
    })
    server.listen(port, host, 4096, resolve)
  })
}

/** Whether the server will be able to listen there: asked before a database is made for it. Answers the port, where any would do a free one. */
export async function tryPort(where: Where): Promise<number> {
  const server = createServer()
  await listen(server, where)
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/**
 * The address of this server, such as `http://127.0.0.1:4242`. A server on all addresses is found at each of them,
 * but answers browsers only under a name that it knows.
 */
export function originAt({ host, allowedHosts }: Pick<Config, 'host' | 'allowedHosts'>, port: number): string {
  const own = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host]
  const name = own === undefined ? host : (allowedHosts[0] ?? own)
  if (/^([^:]+|\[.*\]):\d+$/.test(name)) return `http://${name}`
  return `http://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`
}
