import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client'

/** An answer of a tool as tests look into it. */
export interface Told {
  // Tests look into answers freely.
  said: any
  error: boolean
  // Tests look into answers freely.
  content: any[]
}

export interface Agent extends AsyncDisposable {
  client: Client
  tell(
    tool: string,
    args: Record<string, unknown>,
    options?: { signal?: AbortSignal; onprogress?: (progress: unknown) => void },
  ): Promise<Told>
}

/** Ways to open a connection: the client's own default is the wire of 2025-11-25. */
export const modes = {
  default: undefined,
  auto: 'auto',
  '2026-07-28': { pin: '2026-07-28' },
} as const satisfies Record<string, VersionNegotiationMode | undefined>

export function clientOf(mode: VersionNegotiationMode | undefined): Client {
  return new Client({ name: 'test', version: '1' }, mode === undefined ? {} : { versionNegotiation: { mode } })
}

export function agentOf(client: Client): Agent {
  return {
    client,
    async tell(tool, args, options = {}) {
      const result = await client.callTool({ name: tool, arguments: args }, options)
      return { said: result.structuredContent, error: result.isError === true, content: result.content as unknown[] }
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** The official client at `{origin}/mcp` with a key. */
export async function agentAt(origin: string, key: string, mode?: VersionNegotiationMode): Promise<Agent> {
  const client = clientOf(mode)
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', origin), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    }),
  )
  return agentOf(client)
}
