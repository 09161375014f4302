import type { CacheHint, Server, ServerContext, jsonSchemaValidator } from '@modelcontextprotocol/server'
import about from '../../../package.json' with { type: 'json' }
import type { ToolCall } from './tools/agent-tools.ts'
import { type ConsentQuestion, type ToolName, type ToolResult, instructions, isTool, tools } from './tools/tools.ts'

/** Runs a tool, in this server or through a remote one. */
export type RunTool = (
  tool: ToolName,
  given: Record<string, unknown>,
  call: ToolCall,
) => Promise<ToolResult | ConsentQuestion>

export type Sdk = Pick<typeof import('@modelcontextprotocol/server'), 'Server' | 'ProtocolError' | 'inputRequired'>

const HEARTBEAT_MS = 10_000
/** The list changes only with the version. */
const keep: CacheHint = { ttlMs: 3_600_000, cacheScope: 'public' }
/** A consent form has no fields to validate. The SDK's own validator would be rebuilt for every request. */
const validator: jsonSchemaValidator = {
  getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
}

/** The protocol side of the three tools, per HTTP request or stdio connection. */
export function createServer({ Server, ProtocolError, inputRequired }: Sdk, run: RunTool): Server {
  const server = new Server(
    { name: 'ukiyo', title: 'Ukiyo', version: about.version },
    {
      capabilities: { tools: {} },
      instructions,
      jsonSchemaValidator: validator,
      cacheHints: { 'tools/list': keep, 'server/discover': keep },
    },
  )
  // Read-only constants; the SDK's types are mutable.
  server.setRequestHandler('tools/list', () => ({ tools: [...tools] }) as never)
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const { name, arguments: given = {} } = params
    // -32602, as specified for an unknown tool.
    if (!isTool(name))
      throw new ProtocolError(
        -32602,
        `Unknown tool ${name}. Available tools: ${tools.map((tool) => tool.name).join(', ')}.`,
      )
    await using progress = progressOf(ctx, params._meta?.progressToken)
    const person = asksPeople(server, ctx) ? { answer: answerIn(ctx) } : undefined
    const result = await run(name, given, { signal: ctx.mcpReq.signal, progress: progress.say, person })
    if (!('asks' in result)) return { ...result }
    const { message, question } = result.asks
    const consent = inputRequired.elicit({ message, requestedSchema: { type: 'object', properties: {} } })
    return inputRequired({ inputRequests: { consent }, requestState: question })
  })
  return server
}

/** Whether the client supports forms, as declared per request or at the start of a connection. */
function asksPeople(server: Server, { mcpReq: { envelope } }: ServerContext): boolean {
  const { 'io.modelcontextprotocol/clientCapabilities': said = server.getClientCapabilities() } = (envelope ?? {}) as {
    'io.modelcontextprotocol/clientCapabilities'?: ReturnType<Server['getClientCapabilities']>
  }
  const elicitation = said?.elicitation
  // An empty declaration means forms.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

function answerIn({ mcpReq }: ServerContext): NonNullable<ToolCall['person']>['answer'] {
  const question = mcpReq.requestState()
  const given = mcpReq.inputResponses?.consent as { action?: unknown } | undefined
  if (typeof question !== 'string' || given === undefined) return null
  return { question, agreed: given.action === 'accept' }
}

/** Sends progress to clients that requested it, so that they keep waiting. All of it comes before the result. */
function progressOf(
  ctx: ServerContext,
  token: string | number | undefined,
): AsyncDisposable & { say: ToolCall['progress'] } {
  if (token === undefined) return { say: undefined, async [Symbol.asyncDispose]() {} }
  let count = 0
  let told = Promise.resolve()
  const say = (message: string): void => {
    const params = { progressToken: token, progress: ++count, message }
    // A disconnected client isn't an error; the signal ends its call.
    told = told.then(() => ctx.mcpReq.notify({ method: 'notifications/progress', params })).catch(() => {})
  }
  const timer = setInterval(() => say('working'), HEARTBEAT_MS)
  return {
    say,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await told
    },
  }
}
