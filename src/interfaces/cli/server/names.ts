import { type Contracts, contracts } from '#modules/contracts.ts'
import { resourceTypeOf } from '#core/access.ts'
import type { AnyEndpoint } from '#core/contract.ts'
import { parseId } from '#core/ids.ts'
import type { SendCall } from '../../client.ts'
import { Stop } from '../exit.ts'
import { nearWords } from '../near.ts'

interface Named {
  word: string
  /** The listing endpoint and its extra parameters. */
  area: keyof Contracts
  verb: string
  with?: Record<string, unknown>
  /** Fields to match; the first one is displayed. */
  by: readonly string[]
}

/** Kinds that can be given by name, keyed by resource type. */
const kinds = {
  agent: { word: 'agent', area: 'agents', verb: 'list', by: ['name'] },
  automation: { word: 'automation', area: 'automations', verb: 'list', by: ['name'] },
  chat: { word: 'chat', area: 'chats', verb: 'list', by: ['title'] },
  computer: { word: 'computer', area: 'computers', verb: 'list', by: ['name'] },
  workspace: { word: 'workspace', area: 'workspaces', verb: 'list', by: ['name'] },
  provider_endpoint: { word: 'provider', area: 'ai_gateway', verb: 'list', by: ['slug', 'name'] },
  webhook_endpoint: { word: 'webhook', area: 'webhooks', verb: 'list', by: ['name', 'url'] },
  api_key: { word: 'key', area: 'api_keys', verb: 'list', by: ['name'] },
  account: { word: 'account', area: 'admin', verb: 'accounts', by: ['email', 'name'] },
} as const satisfies Record<string, Named>
export type Kind = keyof typeof kinds

const fields: Readonly<Record<string, Kind>> = {
  agent_id: 'agent',
  workspace_id: 'workspace',
  chat_id: 'chat',
  computer_id: 'computer',
  key_id: 'api_key',
  parent_chat_id: 'chat',
}

/** Endpoints whose access rule names no resource. */
const paths: Readonly<Record<string, Kind>> = {
  'PATCH /api-keys/:id': 'api_key',
  'DELETE /api-keys/:id': 'api_key',
  'POST /api-keys/:id/rotate': 'api_key',
  'POST /admin/accounts/:id/credits': 'account',
}

/** The kind a field references, if it can be resolved by name. Files are resolved by path, members by email. */
export function kindOf({ access, method, path }: AnyEndpoint, field: string): Kind | 'file' | 'member' | undefined {
  if (field === 'memberId') return 'member'
  if (field === 'parent_id') return path.startsWith('/chats/') ? undefined : 'file'
  if (field !== 'id') return fields[field]
  const own = paths[`${method} ${path}`]
  if (own !== undefined) return own
  const type = resourceTypeOf(access)
  return type === 'file' || (type !== undefined && type in kinds) ? (type as Kind | 'file') : undefined
}

export async function withIds(
  endpoint: AnyEndpoint,
  input: Record<string, unknown>,
  call: SendCall,
): Promise<Record<string, unknown>> {
  const resolved = { ...input }
  for (const [field, value] of Object.entries(input)) {
    if (typeof value !== 'string' || value === '' || parseId(value) !== null) continue
    const kind = kindOf(endpoint, field)
    if (kind === undefined) continue
    if (kind === 'member') resolved[field] = await memberOf(String(resolved.id), value, call)
    else if (kind === 'file') resolved[field] = await fileAt(value, resolved, call)
    else resolved[field] = await idOf(kind, value, call)
  }
  return resolved
}

/** Resolves a name to an ID; returns an ID unchanged. Duplicate names are an error. */
export async function idOf(kind: Kind, word: string, call: SendCall): Promise<string> {
  return parseId(word) !== null ? word : pick(kinds[kind], word, await listed(kinds[kind], call))
}

export async function namesOf(kind: Kind, call: SendCall): Promise<string[]> {
  const { by, ...lookup } = kinds[kind]
  return (await listed({ by, ...lookup }, call)).map((row) => String(row[by[0]] ?? '')).filter(Boolean)
}

type Row = Record<string, unknown> & { id: string }

/** With more resources than this, use the ID. */
const MAX_PAGES = 20

async function listed({ area, verb, ...named }: Named, call: SendCall, more: object = {}): Promise<Row[]> {
  const endpoint = (await contracts[area]()).endpoints[verb as never] as AnyEndpoint
  const rows: Row[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await call(endpoint, { limit: 100, cursor, ...named.with, ...more })
    const { data, pagination } = JSON.parse(await answer.text()) as {
      data: Row[]
      pagination: { next_cursor: string | null }
    }
    rows.push(...data)
    if (pagination.next_cursor === null) break
    cursor = pagination.next_cursor
  }
  return rows
}

function pick({ word: kind, by, area, verb }: Named, word: string, rows: readonly Row[]): string {
  const alike = (test: (name: string) => boolean) =>
    rows.filter((row) => by.some((field) => test(String(row[field] ?? ''))))
  const exact = alike((name) => name === word)
  const matches = exact.length > 0 ? exact : alike((name) => name.toLowerCase() === word.toLowerCase())
  const [one, other] = matches
  if (one === undefined)
    throw noSuch(
      kind,
      word,
      rows.map((row) => String(row[by[0]!] ?? '')),
      `uk ${area.replaceAll('_', '-')} ${verb}`,
    )
  if (other !== undefined)
    throw new Stop(
      'usage',
      `${matches.length} ${kind}s are named "${word}".`,
      `Use an ID: ${matches.map(({ id }) => id).join(', ')}.`,
    )
  return one.id
}

export function noSuch(kind: string, word: string, names: readonly string[], list: string): Stop {
  const near = nearWords(word, [...new Set(names)].filter(Boolean))
  return new Stop(
    'not_found',
    `No ${kind} named "${word}".`,
    near.length > 0
      ? `Did you mean ${near.map((name) => `"${name}"`).join(' or ')}?`
      : `Run \`${list}\` to see what you can access.`,
  )
}

async function memberOf(workspace: string, word: string, call: SendCall): Promise<string> {
  const lookup = { word: 'member', area: 'members', verb: 'list', by: ['email', 'name'] } as const
  return pick(lookup, word, await listed(lookup, call, { id: workspace }))
}

/** Finds a drive file or folder by the path `uk drive list` shows. */
async function fileAt(path: string, { workspace_id }: Record<string, unknown>, call: SendCall): Promise<string> {
  const { endpoints } = await contracts.drive()
  const clean = path.replace(/^\/+|\/+$/g, '')
  const workspace = typeof workspace_id === 'string' && parseId(workspace_id) !== null ? { workspace_id } : {}
  const find = async (pattern: string): Promise<(Row & { path: string })[]> => {
    const answer = await call(endpoints.glob, { pattern: [pattern], type: 'any', limit: 100, ...workspace })
    return (JSON.parse(await answer.text()) as { data: (Row & { path: string })[] }).data
  }
  const matches = (await find(`/${escaped(clean)}`)).filter((row) => row.path === clean)
  const [one, other] = matches
  if (one !== undefined && other === undefined) return one.id
  if (one !== undefined)
    throw new Stop(
      'usage',
      `"${clean}" exists in ${matches.length} workspaces.`,
      `Add --workspace, or use an ID: ${matches.map(({ id }) => id).join(', ')}.`,
    )
  const folder = clean.includes('/') ? clean.slice(0, clean.lastIndexOf('/') + 1) : ''
  const beside = await find(`/${escaped(folder)}*`).catch(() => [])
  throw noSuch(
    'file',
    clean,
    beside.map((row) => row.path),
    'uk drive list',
  )
}

export async function pathsFrom(begins: string, call: SendCall): Promise<string[]> {
  const { endpoints } = await contracts.drive()
  const answer = await call(endpoints.glob, { pattern: [`/${escaped(begins)}*`], type: 'any', limit: 100 })
  return (JSON.parse(await answer.text()) as { data: { path: string }[] }).data.map(({ path }) => path)
}

const escaped = (text: string): string => text.replace(/[\\*?[\]{}!]/g, '\\$&')
