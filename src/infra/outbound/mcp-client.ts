import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Client,
  SdkHttpError,
  StreamableHTTPClientTransport,
  jsonSchemaValidator,
} from '@modelcontextprotocol/client'
import { type Meter, fetchThrough } from '#packages/http-client/fetch.ts'
import type { Outbound } from '#packages/http-client/outbound.ts'
import { RetrieveFailed } from '#packages/http-client/retrieve.ts'
import type { ExchangeOwner } from '#packages/http-client/send.ts'
import { shorten } from '#core/text/shorten.ts'

export interface OutsideServer {
  url: string
  headers: Readonly<Record<string, string>>
  timeoutMs: number
}

export interface OutsideTool {
  name: string
  description: string
  parameters: object
}

/** The external server failed. The message is safe to show. */
export class OutsideFailed extends Error {
  override name = 'OutsideFailed'
  /** The response exceeds the limits, so retrying won't help. */
  readonly tooLarge: boolean

  constructor(message: string, { tooLarge = false } = {}) {
    super(message)
    this.tooLarge = tooLarge
  }
}

export interface OutsideMcp extends AsyncDisposable {
  tools(signal: AbortSignal, inTurn?: InTurn): Promise<OutsideTool[]>
  /** Calls a tool. A tool's own error is a result with `is_error`. */
  call(
    name: string,
    input: Record<string, unknown>,
    signal: AbortSignal,
  ): Promise<{ output: unknown; is_error: boolean }>
}

type InTurn = <T>(work: () => Promise<T>) => Promise<T>

interface Session {
  client: Client
  transport: StreamableHTTPClientTransport
}

const OPEN_MS = 10_000
const LEAVE_MS = 2_000
const MAX_PAGES = 20
const OF_A_CALL: Meter = { remaining: 8 << 20, values: 50_000 }
const OF_A_LISTING: Meter = { remaining: 1 << 20, values: 50_000 }
const LONGEST_MESSAGE = 1_000

/** Results aren't validated: external schemas are never compiled. */
const noValidation: jsonSchemaValidator = {
  getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
}

export function outsideMcp(
  outbound: Outbound,
  { url, headers, timeoutMs }: OutsideServer,
  whose: ExchangeOwner,
): OutsideMcp {
  const meter: Meter = { ...OF_A_LISTING }
  const through = fetchThrough(outbound, meter, { ...whose, withinMs: timeoutMs })
  const openMs = Math.min(OPEN_MS, timeoutMs)
  let opening: Promise<Session> | null = null

  const session = (): Promise<Session> =>
    (opening ??= connect().catch((error: unknown) => {
      opening = null
      throw error
    }))

  async function connect(): Promise<Session> {
    // Loaded when an agent first needs it.
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
    const client = new Client(
      { name: 'ukiyo', version: '1' },
      {
        versionNegotiation: { mode: 'auto' },
        jsonSchemaValidator: noValidation,
        listMaxPages: MAX_PAGES,
        inputRequired: { autoFulfill: false },
      },
    )
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      // Unsolicited server messages aren't received.
      fetch: async (to, init) => (init?.method === 'GET' ? new Response(null, { status: 405 }) : through(to, init)),
      requestInit: { headers },
      onInsufficientScope: 'throw',
    })
    await client.connect(transport, { timeout: openMs })
    return { client, transport }
  }

  /**
   * Runs `use` with a live session. If the server has forgotten the session, nothing was executed, so it opens a new
   * one.
   */
  async function within<T>(most: Meter, use: (client: Client) => Promise<T>): Promise<T> {
    Object.assign(meter, most)
    try {
      const wasOpen = opening !== null
      try {
        return await use((await session()).client)
      } catch (error) {
        if (!wasOpen || statusOf(error) !== 404) throw error
        opening = null
        return await use((await session()).client)
      }
    } catch (error) {
      throw toOutsideFailure(error)
    }
  }

  return {
    tools: (signal, inTurn = (work) => work()) =>
      within(OF_A_LISTING, async (client) => {
        const { tools } = await inTurn(() => client.listTools(undefined, { signal, timeout: openMs }))
        return tools.map(({ name, description = '', inputSchema }) => ({ name, description, parameters: inputSchema }))
      }),
    call: (name, input, signal) =>
      within(OF_A_CALL, async (client) => {
        const { content, structuredContent, isError } = await client.callTool(
          { name, arguments: input },
          { signal, timeout: timeoutMs },
        )
        return { output: structuredContent ?? plain(content), is_error: isError === true }
      }),
    async [Symbol.asyncDispose]() {
      const session = await opening?.catch(() => null)
      if (!session) return
      const { client, transport } = session
      const late = sleep(LEAVE_MS, undefined, { ref: false })
      await Promise.race([transport.terminateSession().catch(() => {}), late])
      await client.close().catch(() => {})
    },
  }
}

/** Text as text; other content without its bytes. */
function plain(content: readonly { type: string }[]): unknown {
  const parts = content.map((part) => {
    const { type, text, data, ...rest } = part as { type: string; text?: string; data?: string }
    return type === 'text' ? (text ?? '') : { type, ...rest, ...(data !== undefined && { size_bytes: sizeOf(data) }) }
  })
  return parts.every((part) => typeof part === 'string') ? parts.join('\n') : parts
}

const sizeOf = (base64: string): number => Math.floor((base64.length * 3) / 4)

const statusOf = (error: unknown): number | null => {
  const { data } = error as Partial<SdkHttpError>
  return typeof data?.status === 'number' ? data.status : null
}

function toOutsideFailure(error: unknown): OutsideFailed {
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if (at instanceof RetrieveFailed) return new OutsideFailed(at.message, { tooLarge: at.why === 'too_large' })
  const status = statusOf(error)
  if (status === 401 || status === 403 || (error as Error).name === 'UnauthorizedError')
    return new OutsideFailed(`The server rejected the credentials${status === null ? '' : ` (${status})`}.`)
  if (status !== null) return new OutsideFailed(`The server returned status ${status}.`)
  const { name, message, code } = error as Error & { code?: unknown }
  if (code === 'REQUEST_TIMEOUT') return new OutsideFailed('The server didn’t respond in time.')
  if (name === 'ProtocolError') return new OutsideFailed(`The server reported: ${shorten(message, LONGEST_MESSAGE)}`)
  return new OutsideFailed('The server’s response isn’t valid Model Context Protocol.')
}
