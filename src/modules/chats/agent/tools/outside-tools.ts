import { createHash, hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AgentRow, outsideServers } from '#modules/agents/service.ts'
import type { Engine } from '#infra/context.ts'
import { OutsideFailed, type OutsideMcp, type OutsideTool, outsideMcp } from '#infra/outbound/mcp-client.ts'
import type { Id } from '#core/ids.ts'
import type { Tool } from '#gateway/model/canonical-request.ts'
import { type Result, mistake } from '../../messages/tool-calls.ts'
import type { Policy } from './tool-policy.ts'
import { shorten } from '#core/text/shorten.ts'

type Server = AgentRow['mcp_servers'][number]

export interface OfferedOutsideTool {
  url: string
  tool: string
  /** Hash of the tool's definition: an approval covers this definition, not later ones under the same name. */
  definition: string
  policy: Policy
  timeoutMs: number
  call(args: Record<string, unknown>, signal: AbortSignal): Promise<Result>
}

export interface OutsideSession extends AsyncDisposable {
  offer: Tool[]
  problems: { server: string; message: string }[]
  reach(name: string): OfferedOutsideTool | { unusable: string } | null
}

const MAX_TOOLS = 128
const MAX_SCHEMA_LENGTH = 32_768
const MAX_SCHEMAS_LENGTH = 262_144
const MAX_DESCRIPTION_LENGTH = 4_096
const KNOWN_MS = 300_000
const FAILED_MS = 15_000
const TOO_LARGE_MS = KNOWN_MS
const MAX_KNOWN = 100
/** How long a listing without a response delays the account's next one. */
const LISTING_MS = 1_000
const MAX_NAME_LENGTH = 128
/** Copies, because a slice would retain the whole string. */
const cut = (words: string): string => Buffer.from(shorten(words, MAX_DESCRIPTION_LENGTH)).toString()

export const noOutsideSession: OutsideSession = {
  offer: [],
  problems: [],
  reach: () => null,
  async [Symbol.asyncDispose]() {},
}

type ListedTool = OutsideTool & Pick<OfferedOutsideTool, 'definition'>
type Listing = { tools: ListedTool[]; leftOut: number } | { failed: string }

/**
 * In-memory cache of listings, oldest evicted first. Each process has its own, so a server is asked once per process
 * and period.
 */
export class OutsideTools {
  readonly #known = new Map<string, { until: number; listing: Listing }>()
  readonly #turns = new Map<Id, Promise<void>>()
  readonly #listingMs: number

  constructor(listingMs: number) {
    this.#listingMs = listingMs
  }

  find(...names: string[]): Listing | null {
    for (const name of names) {
      const entry = this.#known.get(name)
      if (entry && entry.until > Date.now()) return entry.listing
    }
    return null
  }

  remember(name: string, listing: Listing, forMs: number): void {
    this.#known.delete(name)
    for (const oldest of this.#known.keys()) if (this.#known.size >= MAX_KNOWN) this.#known.delete(oldest)
    this.#known.set(name, { until: Date.now() + forMs, listing })
  }

  clear(): void {
    this.#known.clear()
  }

  /**
   * Runs an account's listings one at a time, because parsing a large one blocks the event loop. After a second without
   * a response the next one starts, so that a silent server doesn't delay the others.
   */
  async inTurn<T>(account: Id, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const previousTurn = this.#turns.get(account) ?? Promise.resolve()
    const { promise: passedOn, resolve: passOn } = Promise.withResolvers<void>()
    const turn = previousTurn.then(() => passedOn)
    this.#turns.set(account, turn)
    void turn.then(() => this.#turns.get(account) === turn && this.#turns.delete(account))
    const finished = new AbortController()
    try {
      await untilLeft(previousTurn, signal)
      void sleep(this.#listingMs, undefined, { ref: false, signal: finished.signal }).then(passOn, () => {})
      return await work()
    } finally {
      finished.abort()
      passOn()
    }
  }
}
export const createOutsideTools = (listingMs = LISTING_MS): OutsideTools => new OutsideTools(listingMs)

async function untilLeft(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const leave = (): void => reject(signal.reason as Error)
  signal.addEventListener('abort', leave, { once: true })
  try {
    await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** Lists all servers concurrently. A failing server is only reported in `problems`. `party`: the run's account. */
export async function outsideOf(
  engine: Engine<{ outsideTools: OutsideTools }>,
  agent: AgentRow,
  party: Id,
  signal: AbortSignal,
): Promise<OutsideSession> {
  const servers = outsideServers(engine, agent)
  if (servers.length === 0) return noOutsideSession
  const toolsByName = new Map<string, OfferedOutsideTool>()
  const offer: Tool[] = []
  const problems: OutsideSession['problems'] = []
  const connections: OutsideMcp[] = []
  const listings = await Promise.all(
    servers.map(async (server) => {
      const credential = `${agent.id} ${server.name} ${hash('sha256', JSON.stringify(server.headers))}`
      const mcp = outsideMcp(engine.outside, server, { credential, party })
      connections.push(mcp)
      return {
        server,
        mcp,
        listing: await listTools(
          engine.outsideTools,
          { key: keyOf(agent, server.name), url: server.url, party },
          mcp,
          signal,
        ),
      }
    }),
  )
  for (const { server, mcp, listing } of listings) {
    const secrets = Object.values(server.headers).flatMap(secretsIn)
    if ('failed' in listing) {
      problems.push({ server: server.name, message: hideIn(listing.failed, secrets) })
      continue
    }
    let omittedCount = listing.leftOut
    for (const { name, description, parameters, definition } of listing.tools) {
      const policy = policyIn(server, name)
      const exposedName = nameOf(server.name, name)
      if (toolsByName.has(exposedName)) {
        omittedCount++
        continue
      }
      toolsByName.set(exposedName, {
        url: server.url,
        tool: name,
        definition,
        policy,
        timeoutMs: server.timeoutMs,
        call: async (args, until) => {
          try {
            return hideIn(await mcp.call(name, args, until), secrets)
          } catch (error) {
            // Nested too deeply to serialize.
            if (error instanceof RangeError) return mistake(`${server.name}: the response is nested too deeply.`)
            if (!(error instanceof OutsideFailed)) throw error
            return hideIn(mistake(`${server.name}: ${error.message}`), secrets)
          }
        },
      })
      if (policy !== 'deny') offer.push(hideIn({ name: exposedName, description, parameters }, secrets))
    }
    if (omittedCount > 0)
      problems.push({
        server: server.name,
        message: `${omittedCount} of its tools were left out because there are too many or they are too large.`,
      })
  }
  return {
    offer,
    problems,
    reach(name) {
      const use = toolsByName.get(name)
      if (use) return use
      const server = servers.find((one) => name.startsWith(nameOf(one.name, '')))
      if (!server) return null
      const problem = problems.find((one) => one.server === server.name)
      return { unusable: problem ? `${server.name}: ${problem.message}` : `${server.name} doesn’t have this tool.` }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(connections.map((mcp) => mcp[Symbol.asyncDispose]()))
    },
  }
}

const policyIn = ({ tools, policy }: Pick<Server, 'tools' | 'policy'>, name: string): Policy =>
  tools.find((tool) => tool.name === name)?.policy ?? policy

export function outsidePolicy(
  { mcp_servers }: Pick<AgentRow, 'mcp_servers'>,
  { url, tool }: Pick<OfferedOutsideTool, 'url' | 'tool'>,
): Policy | null {
  const server = mcp_servers.find((one) => one.url === url)
  return server ? policyIn(server, tool) : null
}

const keyOf = ({ id, updated_at }: Pick<AgentRow, 'id' | 'updated_at'> & { id: Id }, server: string): string =>
  `${id} ${updated_at.getTime()} ${server}`

async function listTools(
  cache: OutsideTools,
  { key, url, party }: { key: string; url: string; party: Id },
  mcp: OutsideMcp,
  signal: AbortSignal,
): Promise<Listing> {
  // By URL alone, so that changing the agent doesn't repeat a listing that was too large.
  const refusalKey = `${party} ${url}`
  const cachedListing = cache.find(key, refusalKey)
  if (cachedListing !== null) return cachedListing
  try {
    const listing = bounded(await mcp.tools(signal, (work) => cache.inTurn(party, signal, work)))
    cache.remember(key, listing, KNOWN_MS)
    return listing
  } catch (error) {
    if (signal.aborted || !(error instanceof OutsideFailed)) throw error
    const listing = { failed: error.message }
    if (error.tooLarge) cache.remember(refusalKey, listing, TOO_LARGE_MS)
    else cache.remember(key, listing, FAILED_MS)
    return listing
  }
}

function bounded(all: readonly OutsideTool[]): Listing {
  const tools: ListedTool[] = []
  let size = 0
  for (const { name, description, parameters } of all) {
    if (tools.length >= MAX_TOOLS || name.length > MAX_NAME_LENGTH) continue
    const schema = sortedJson(parameters)
    if (schema === null || schema.length > MAX_SCHEMA_LENGTH || size + schema.length > MAX_SCHEMAS_LENGTH) continue
    size += schema.length
    const definition = hash('sha256', JSON.stringify([name, description, schema]))
    tools.push({ name, description: cut(description), parameters, definition })
  }
  return { tools, leftOut: all.length - tools.length }
}

function sortedJson(value: object): string | null {
  try {
    return JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    )
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** `mcp__<server>__<tool>`, in the characters and up to the 64 that providers allow. */
function nameOf(server: string, tool: string): string {
  const name = `mcp__${server}__${tool.replace(/[^A-Za-z0-9_-]/g, '_')}`
  return name.length <= 64
    ? name
    : `${name.slice(0, 55)}_${createHash('sha256').update(tool).digest('hex').slice(0, 8)}`
}

const secretsIn = (value: string): string[] => [value, ...value.split(' ').slice(1)].filter(({ length }) => length >= 8)

/** Hides credentials that a server echoes from the model and the chat's readers. */
function hideIn<Value>(value: Value, secrets: readonly string[]): Value {
  const hide = (words: string) => secrets.reduce((text, secret) => text.replaceAll(secret, '[secret]'), words)
  const json = JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'string' ? hide(inner) : inner))
  return JSON.parse(json) as Value
}
