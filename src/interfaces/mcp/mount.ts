import type { IncomingMessage, ServerResponse } from 'node:http'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type AgentTools, createAgentTools } from './tools/agent-tools.ts'
import type { Admitted, AgentDoor } from './tools/door.ts'
import { LargeResults } from './large-results.ts'
import { createServer } from './server.ts'
import { sendWeb, webRequest } from './web.ts'

const PATH = '/mcp'

/** A path prefix with its handler. */
interface McpMount {
  prefix: string
  handle(request: IncomingMessage, response: ServerResponse, requestId: Id): Promise<void>
}

type Serve = (request: Request, admitted: Admitted, message: unknown, large: LargeResults) => Promise<Response>

/**
 * `/mcp`: the MCP tools over streamable HTTP, stateless, for protocol 2026-07-28 and for 2025-11-25 and earlier. Errors
 * before the message (host, origin, key, rate, size) use the REST format; errors in the message use JSON-RPC.
 */
export function mcpMount(door: AgentDoor): McpMount {
  const tools = createAgentTools(door.endpoints)
  let serve: Promise<Serve> | undefined
  return {
    prefix: PATH,
    async handle(request, response, requestId) {
      if (request.url!.split('?')[0] !== PATH) refuse('not_found', { message: 'Not found. The MCP server is at /mcp.' })
      using admitted = await door.admit(request, response, requestId)
      if (admitted === null) return
      // Loading the SDK takes about 90 ms, so the first request loads it instead of startup.
      serve ??= createServe(tools)
      const message = parsed(admitted.body)
      const large = new LargeResults()
      if (Array.isArray(message)) return sendWeb(response, noBatches(), large, admitted)
      const answer = await (await serve)(webRequest(request, admitted, message === undefined), admitted, message, large)
      await sendWeb(response, answer, large, admitted)
    },
  }
}

async function createServe(tools: AgentTools): Promise<Serve> {
  const sdk = await import('@modelcontextprotocol/server')
  const callers = new WeakMap<Request, { admitted: Admitted; large: LargeResults }>()
  const handler = sdk.createMcpHandler(({ requestInfo }) => {
    const caller = callers.get(requestInfo!)!
    return createServer(sdk, async (tool, given, call) => {
      const result = await tools.run(tool, given, caller.admitted, call)
      return 'asks' in result ? result : caller.large.replace(result)
    })
  })
  return (request, admitted, message, large) => {
    callers.set(request, { admitted, large })
    return handler.fetch(request, message === undefined ? {} : { parsedBody: message })
  }
}

/** Undefined for invalid JSON: the SDK then reads the bytes itself and responds with -32700. */
function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

/**
 * Rejects batches, which only protocol 2025-03-26 had: one request could contain more calls than its rate limit counts.
 */
const noBatches = (): Response =>
  Response.json(
    {
      jsonrpc: '2.0',
      id: null,
      error: { code: -32600, message: 'Batches aren’t supported. Send one message per request.' },
    },
    { status: 400 },
  )
