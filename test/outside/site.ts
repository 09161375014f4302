import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A web site on loopback: pages by path, and the paths that were asked for. */
export interface Site extends AsyncDisposable {
  origin: string
  /** `127.0.0.1:port`, as `UK_FETCH_ALLOW` takes it. */
  host: string
  asked: string[]
}
export type SitePage = string | ((request: IncomingMessage, response: ServerResponse) => void)

/** A path that is not there is 404; text is served as HTML. */
export async function startSite(pages: Record<string, SitePage>): Promise<Site> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url!.split('?')[0]!
    asked.push(path)
    const page = pages[path]
    if (page === undefined) response.writeHead(404).end('not here')
    else if (typeof page === 'string') response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
    else page(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin: `http://${host}`,
    host,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close').catch(() => {})
    },
  }
}
