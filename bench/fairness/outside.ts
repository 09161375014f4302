/** The attacker's own servers on one port: a provider with very long answers, and an MCP server with a very large tool. */
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const chunk = (delta: object): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`

async function stream(response: ServerResponse, count: number, event: (n: number) => string): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let from = 0; from < count && !response.destroyed; from += 500) {
    const part = Array.from({ length: 500 }, (_, n) => event(from + n)).join('')
    if (!response.write(part))
      await new Promise<void>((resolve) => response.once('drain', resolve).once('close', resolve))
  }
  response.end('data: [DONE]\n\n')
}

const call = (n: number): string =>
  chunk({ tool_calls: [{ index: n, id: `call_${n}`, type: 'function', function: { name: 'f', arguments: '{}' } }] })
const nothing = chunk({})

const schema = {
  type: 'object',
  properties: { x: { enum: Array.from({ length: 100_000 }, (_, n) => `value ${n} ${'y'.repeat(40)}`) } },
}
const tools = [{ name: 'large', description: 'Has a schema of 5.7 MB.', inputSchema: schema }]
const results: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'large', version: '1' },
  },
  'tools/list': { tools },
  ping: {},
}

const server = createServer((request, response) => {
  let body = ''
  request.on('data', (part) => (body += part))
  request.on('end', () => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const json = JSON.parse(body) as { model?: string; id?: unknown; method?: string }
    if (json.model !== undefined)
      return void (json.model === 'calls' ? stream(response, 80_000, call) : stream(response, 400_000, () => nothing))
    if (json.id === undefined) return void response.writeHead(202).end()
    const result = results[json.method ?? '']
    const said = result === undefined ? { error: { code: -32601, message: 'unknown' } } : { result }
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: json.id, ...said }))
  })
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`ready ${(server.address() as AddressInfo).port}\n`))
