import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ProtocolError, Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'

/** An outside server of the Model Context Protocol on loopback, on the wire of 2025-11-25 with sessions. */
export interface OutsideMcpServer extends AsyncDisposable {
  url: string
  /** Tools that were called, in their order. */
  called: {
    name: string
    given: Record<string, unknown>
    authorization: string | undefined
    version: string | undefined
  }[]
  /** Sessions that were begun, and ended by the client. */
  begun: number
  ended: number
  /** Bytes of `flood` that somebody took. */
  flooded: number
  /** Says that it knows none of its sessions any more. */
  forget(): void
  /** What it says of `count` from now on. */
  counts(said: { description?: string; inputSchema?: object }): void
}

const text = (words: string) => ({ content: [{ type: 'text', text: words }] })
const object = (properties: object) => ({ type: 'object', properties })
const TOOLS = [
  { name: 'echo', description: 'Says it again.', inputSchema: object({ text: { type: 'string' } }) },
  { name: 'delete.all', description: 'Deletes everything.', inputSchema: object({}) },
  { name: 'secret', description: 'Tells what it was sent.', inputSchema: object({}) },
  { name: 'never', description: 'Does not return.', inputSchema: object({}) },
  { name: 'flood', description: 'Returns 100 MB.', inputSchema: object({}) },
  { name: 'broken', description: 'Fails.', inputSchema: object({}) },
  { name: 'refused', description: 'Is refused.', inputSchema: object({}) },
  { name: 'count', description: 'Counts.', inputSchema: object({}) },
  { name: 'vast', description: 'Has a schema of 100 KB.', inputSchema: object({ x: { enum: ['y'.repeat(100_000)] } }) },
]
const PAGE = 5
const FLOOD = 100 << 20

export async function startOutsideMcp(): Promise<OutsideMcpServer> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const never = new AbortController()
  let count: { description?: string; inputSchema?: object } = {}
  const state = { called: [] as OutsideMcpServer['called'], begun: 0, ended: 0, flooded: 0 }

  async function begin(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        state.begun++
        sessions.set(id, transport)
      },
      onsessionclosed: (id) => {
        state.ended++
        sessions.delete(id)
      },
    })
    const server = new Server({ name: 'outside', version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', ({ params }) => {
      const from = Number(params?.cursor ?? 0)
      const next = from + PAGE < TOOLS.length ? { nextCursor: String(from + PAGE) } : {}
      const tools = TOOLS.map((tool) => (tool.name === 'count' ? { ...tool, ...count } : tool))
      return { tools: tools.slice(from, from + PAGE), ...next } as never
    })
    server.setRequestHandler('tools/call', async ({ params: { name, arguments: given = {} } }, ctx) => {
      const { headers } = ctx.http!.req!
      const authorization = headers.get('authorization') ?? undefined
      state.called.push({ name, given, authorization, version: headers.get('mcp-protocol-version') ?? undefined })
      switch (name) {
        case 'echo':
          return text(String(given.text)) as never
        case 'secret':
          return text(`You sent ${authorization}.`) as never
        case 'never':
          return new Promise((_, reject) => never.signal.addEventListener('abort', () => reject(new Error('over'))))
        case 'broken':
          return { ...text('It broke.'), isError: true } as never
        case 'count':
          return { ...text('3'), structuredContent: { count: 3 } } as never
        default:
          throw new ProtocolError(-32602, `no ${name} today`)
      }
    })
    await server.connect(transport)
    return transport
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const body = Buffer.concat(pieces)
    if (body.includes('"flood"')) return flood(JSON.parse(body.toString()).id as number, response)
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? sessions.get(id) : undefined
    if (id !== undefined && known === undefined) return void response.writeHead(404).end('no such session')
    const transport = known ?? (await begin())
    const given = new Request(`http://outside${request.url}`, {
      method: request.method!,
      headers: request.headers as Record<string, string>,
      ...(body.length > 0 && { body }),
    })
    const answered = await transport.handleRequest(given)
    response.writeHead(answered.status, Object.fromEntries(answered.headers))
    response.flushHeaders()
    for await (const piece of answered.body ?? []) response.write(piece)
    response.end()
  }

  async function flood(id: number, response: ServerResponse): Promise<void> {
    const piece = Buffer.alloc(1 << 18, 'x')
    const left = once(response, 'close')
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`)
    for (state.flooded = 0; state.flooded < FLOOD && !response.destroyed; state.flooded += piece.length)
      if (!response.write(piece)) await Promise.race([once(response, 'drain'), left])
    response.end('"}]}}')
  }

  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    forget: () => sessions.clear(),
    counts: (said: typeof count) => void (count = said),
    async [Symbol.asyncDispose]() {
      never.abort()
      server.closeAllConnections()
      server.close()
      await once(server, 'close').catch(() => {})
    },
  })
}
