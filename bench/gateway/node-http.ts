/** A pass-through of what Node and its best client offer: node:http in, undici dispatch out. Argument: the upstream's port. */
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { type Dispatcher, Pool } from 'undici'

const pool = new Pool(`http://127.0.0.1:${process.argv[2]}`, { connections: 2048, pipelining: 1 })

class Through implements Dispatcher.DispatchHandler {
  response: ServerResponse
  constructor(response: ServerResponse) {
    this.response = response
  }
  onRequestStart(): void {}
  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.response.writeHead(status, {
      'content-type': String(headers['content-type']),
      ...(headers['content-length'] && { 'content-length': String(headers['content-length']) }),
    })
    this.response.on('drain', () => controller.resume())
  }
  onResponseData(controller: Dispatcher.DispatchController, part: Buffer): void {
    if (!this.response.write(part)) controller.pause()
  }
  onResponseEnd(): void {
    this.response.end()
  }
  onResponseError(): void {
    this.response.destroy()
  }
}

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    pool.dispatch(
      {
        path: '/v1/chat/completions',
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: request.headers.authorization ?? '' },
        body: Buffer.concat(parts),
      },
      new Through(response),
    )
  })
})
server.listen(0, '127.0.0.1', 4096, () =>
  process.stdout.write(`ready ${(server.address() as { port: number }).port}\n`),
)
