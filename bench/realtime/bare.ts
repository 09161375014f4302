/** The least that can be done: node:http that writes what is posted to everybody who listens, as one frame. */
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const listeners = new Set<ServerResponse>()
const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: subscribed\ndata: {}\n\n')
    listeners.add(response)
    return void response.on('close', () => listeners.delete(response))
  }
  let body = ''
  request.on('data', (part: Buffer) => (body += part.toString()))
  request.on('end', () => {
    const frame = Buffer.from(`event: broadcast\ndata: ${body}\n\n`)
    for (const listener of listeners) listener.write(frame)
    response.end('{}')
  })
})
server.listen(0, '127.0.0.1', 4096, () => {
  process.stdout.write(`ready ${(server.address() as AddressInfo).port}\n`)
})
