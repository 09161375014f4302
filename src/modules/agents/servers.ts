/** An agent's external MCP servers. Header values are sealed in the agent's row and excluded from versions. */
import type { Context, Engine } from '#infra/context.ts'
import { checkGivenUrl } from '#infra/outbound/given-url.ts'
import type { OutsideServer } from '#infra/outbound/mcp-client.ts'
import type { SealedColumns } from '#infra/reseal.ts'
import type { Secrets } from '#infra/secrets.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { AgentRow, Definition } from './store.ts'

type Server = Definition['mcp_servers'][number]
export type GivenServer = Omit<Server, 'header_names'> & {
  headers?: Readonly<Record<string, string>> | null | undefined
}
type Headers = Record<string, Readonly<Record<string, string>>>

export const agentSecrets: readonly SealedColumns[] = [{ table: 'agents', columns: ['sealed_headers'] }]

/**
 * Returns the servers to store, and their headers sealed under the agent's ID. A server sent without headers keeps its
 * own if its origin is unchanged.
 */
export function withServers(
  { engine }: Context,
  id: Id,
  currentAgent: Pick<AgentRow, 'mcp_servers' | 'sealed_headers'> | null,
  inputs: readonly GivenServer[],
): { mcp_servers: Server[]; sealed_headers: string | null } {
  const currentHeaders = currentAgent === null ? {} : headersOf(engine.secrets, id, currentAgent.sealed_headers)
  const headers: Headers = {}
  const mcp_servers = inputs.map(({ headers: newHeaders, ...server }, i): Server => {
    checkGivenUrl(engine.config, server.url, `mcp_servers.${i}.url`)
    const current = currentAgent?.mcp_servers.find(({ name }) => name === server.name)
    const serverHeaders =
      newHeaders ??
      (newHeaders === undefined && current !== undefined ? keepHeaders(current, server, currentHeaders, i) : {})
    if (Object.keys(serverHeaders).length > 0) headers[server.name] = serverHeaders
    return {
      ...server,
      header_names: Object.keys(serverHeaders)
        .map((name) => name.toLowerCase())
        .toSorted(),
    }
  })
  const same = JSON.stringify(headers) === JSON.stringify(currentHeaders)
  const sealed = Object.keys(headers).length === 0 ? null : engine.secrets.seal(JSON.stringify(headers), id)
  return { mcp_servers, sealed_headers: same && currentAgent !== null ? currentAgent.sealed_headers : sealed }
}

/** Secrets must not go to another origin. */
function keepHeaders(current: Server, { name, url }: Pick<Server, 'name' | 'url'>, currentHeaders: Headers, i: number) {
  if (current.header_names.length > 0 && new URL(current.url).origin !== new URL(url).origin)
    refuse('missing_parameter', {
      param: `mcp_servers.${i}.headers`,
      message: 'The server’s origin changes. Send its `headers` again, or null to remove them.',
    })
  return currentHeaders[name] ?? {}
}

const headersOf = (secrets: Secrets, id: Id, sealed: string | null): Headers =>
  sealed === null ? {} : (JSON.parse(secrets.open(sealed, id)) as Headers)

export function outsideServers(
  { secrets }: Engine,
  { id, mcp_servers, sealed_headers }: AgentRow,
): (Server & OutsideServer)[] {
  if (mcp_servers.length === 0) return []
  const headers = headersOf(secrets, id, sealed_headers)
  return mcp_servers.map((server) => ({
    ...server,
    headers: headers[server.name] ?? {},
    timeoutMs: server.timeout_seconds * 1000,
  }))
}
