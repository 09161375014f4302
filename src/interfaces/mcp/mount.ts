import type { IncomingMessage, ServerResponse } from 'node:http'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type AgentTools, createAgentTools } from './tools/agent-tools.ts'
import type { Admitted, AgentDoor } from './tools/door.ts'
import { LargeResults } from './large-results.ts'
import { createServer } from './server.ts'
import { sendWeb, webRequest } from './web.ts'

const PATH = '/mcp'

/** A part of the address space, as the line mounts it. */
interface McpMount {
  prefix: string
  handle(request: IncomingMessage, response: ServerResponse, requestId: Id): Promise<void>
}

type Serve = (request: Request, admitted: Admitted, message: unknown, large: LargeResults) => Promise<Response>

/**
 * `/mcp`: the agent tool over streamable HTTP, on the wires of 2026-07-28 and of 2025-11-25 and before, without
 * sessions on either. What refuses a request before it is a message (host, origin, key, rate, size) is answered as
 * REST answers it; what is wrong with the message, as JSON-RPC.
 */
export function mcpMount(door: AgentDoor): McpMount {
  const tools = createAgentTools(door.endpoints)
  let serve: Promise<Serve> | undefined
  return {
    prefix: PATH,
    async handle(request, response, requestId) {
      if (request.url!.split('?')[0] !== PATH)
        refuse('not_found', { message: 'This path does not exist. The agent tool is at /mcp.' })
      using admitted = await door.admit(request, response, requestId)
      if (admitted === null) return
      // The SDK takes some 90 ms to load: the first caller waits for it, the start of the server does not.
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

/** Undefined for what is not JSON: the SDK then reads the bytes itself and answers -32700. */
function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown
  } catch {
    return undefined
  }
}

/**
 * Refuses batches: only the wire of 2025-03-26 had them, and one request could then hold more calls than its rate limit
 * counts.
 */
const noBatches = (): Response =>
  Response.json(
    {
      jsonrpc: '2.0',
      id: null,
      error: { code: -32600, message: 'Batches are not served: send one message per request.' },
    },
    { status: 400 },
  )
