/** `uk mcp`: serves the MCP tools on stdio. Lists the tools itself and forwards calls to the server's `/mcp`. */
import * as sdk from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { parseArguments } from '../input/arguments.ts'
import { type Target, targetOf } from '../server/credentials.ts'
import { Stop, codeOf } from '../exit.ts'
import type { Globals } from '../globals.ts'
import { readText } from '../input/input.ts'
import type { Terminal } from '../terminal.ts'
import { partsOf } from '../../client.ts'
import type { ToolCall } from '../../mcp/tools/agent-tools.ts'
import { createServer } from '../../mcp/server.ts'
import { type ConsentQuestion, type ToolName, type ToolResult, toolRefusal } from '../../mcp/tools/tools.ts'
import { readEvents } from '../../sse.ts'

const PROTOCOL = '2026-07-28'

/** Serves until the client closes stdin. Takes no locks: several can run side by side. */
export async function mcp(words: readonly string[], terminal: Terminal): Promise<number> {
  const { globals } = await parseArguments(words, [], readText)
  void sayWhatIsMissing(terminal, globals)
  const inputEnd = new Promise((resolve) => process.stdin.once('end', resolve).once('close', resolve))
  const handle = serveStdio(
    () =>
      createServer(sdk, async (tool, given, call) => {
        try {
          // Read for each call, so a `uk login` takes effect without a restart.
          return await forward(await targetOf(terminal, globals), tool, given, call)
        } catch (error) {
          call.signal.throwIfAborted()
          return toolRefusal({ error: explained(error) })
        }
      }),
    { onerror: (error) => terminal.err(`uk mcp: ${error.message}`) },
  )
  await inputEnd
  await handle.close()
  return codeOf('ok')
}

/** Warns once on stderr, which clients log, and continues: the login or the server may come later. */
async function sayWhatIsMissing(terminal: Terminal, globals: Globals): Promise<void> {
  try {
    const { origin, key } = await targetOf(terminal, globals)
    if (key === undefined) terminal.err(`uk mcp: ${signedOut(origin)}`)
    await (await fetch(`${origin}/v1`, { signal: AbortSignal.timeout(5_000) })).body?.cancel()
  } catch (error) {
    terminal.err(`uk mcp: ${explained(error).message}`)
  }
}

const signedOut = (origin: string): string => `Not signed in to ${origin}. Run \`uk login\`, or set UK_KEY.`

function explained(error: unknown): { type: string; message: string } {
  if (error instanceof Stop)
    return { type: 'invalid_request', message: [error.message, error.hint].filter(Boolean).join(' ') }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const why =
    cause instanceof Error ? cause.message || ('code' in cause ? String(cause.code) : cause.name) : String(cause)
  return { type: 'unavailable', message: `Can't reach the server: ${why}. Set UK_ORIGIN to use another server.` }
}

interface InputRequired {
  resultType: 'input_required'
  inputRequests: { consent: { params: { message: string } } }
  requestState: string
}

interface Message {
  method?: string
  params?: { message?: string }
  result?: (ToolResult & { resultType?: 'complete' }) | InputRequired
  /** A JSON-RPC error, or a REST error, which has a type. */
  error?: { type?: string; message: string }
}

async function forward(
  { origin, key }: Target,
  tool: ToolName,
  input: Record<string, unknown>,
  call: ToolCall,
): Promise<ToolResult | ConsentQuestion> {
  if (key === undefined)
    return toolRefusal({
      error: {
        type: 'unauthenticated',
        code: 'missing_credentials',
        message: signedOut(origin),
      },
    })
  const response = await fetch(`${origin}/mcp`, {
    method: 'POST',
    signal: call.signal,
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': PROTOCOL,
      'mcp-method': 'tools/call',
      'mcp-name': tool,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: tool,
        arguments: input,
        ...(call.person?.answer && {
          requestState: call.person.answer.question,
          inputResponses: {
            consent: call.person.answer.agreed ? { action: 'accept', content: {} } : { action: 'decline' },
          },
        }),
        _meta: {
          'io.modelcontextprotocol/protocolVersion': PROTOCOL,
          'io.modelcontextprotocol/clientCapabilities': call.person ? { elicitation: {} } : {},
          // Always requested: progress messages keep a long call's connection from timing out.
          progressToken: 1,
        },
      },
    }),
  })
  for await (const { result, error, params } of messagesOf(response)) {
    if (result?.resultType === 'input_required')
      return { asks: { message: result.inputRequests.consent.params.message, question: result.requestState } }
    if (result) return plain(result)
    if (error)
      return toolRefusal({
        error: error.type === undefined ? { type: 'upstream_error', message: error.message } : error,
      })
    if (params?.message !== undefined) call.progress?.(params.message)
  }
  return toolRefusal({
    error: {
      type: 'unavailable',
      message: `${origin} doesn't respond like a Ukiyo server (status ${response.status}).`,
    },
  })
}

async function* messagesOf(response: Response): AsyncGenerator<Message> {
  const type = response.headers.get('content-type') ?? ''
  if (/\bjson\b/.test(type)) yield (await response.json()) as Message
  if (type.startsWith('text/event-stream'))
    for await (const { data } of readEvents(partsOf(response))) yield data as Message
}

/** Drops protocol fields, which stdio adds again. */
const plain = ({ content, structuredContent, isError, _meta }: ToolResult): ToolResult => ({
  content,
  structuredContent,
  ...(isError && { isError, ...(_meta?.request_id !== undefined && { _meta: { request_id: _meta.request_id } }) }),
})
