import type { ListedEndpoint } from '#core/registry.ts'
import { type Schema, convert, resolve } from '../../schemas.ts'

/** A column of a list: the path of a row's field, and its heading in a terminal. */
export interface Column {
  path: string
  title: string
}

/** Column order. In a narrow window, the last columns are left out. */
const first = [
  'id',
  'name',
  'title',
  'slug',
  'username',
  'email',
  'provider',
  'model',
  'type',
  'kind',
  'role',
  'status',
  'text',
]
const last = ['created_at', 'updated_at', 'workspace_id', 'created_by']

const column = (path: string, title = path.replaceAll('_', ' ')): Column => ({ path, title })
/** Leading columns of certain areas or lists. A dotted path reads a nested field. */
const leading: Record<string, readonly Column[]> = {
  models: [
    column('slug'),
    column('pricing.input', 'input $/M'),
    column('pricing.output', 'output $/M'),
    column('context_length'),
    column('capability_index'),
    column('name'),
    column('status'),
  ],
  'ai_gateway.list': [
    column('id'),
    column('slug'),
    column('status'),
    column('status_reason', 'reason'),
    column('models_count', 'models'),
    column('latency_ms'),
    column('last_success_at'),
  ],
  'ai_gateway.providers': [
    column('slug'),
    column('status'),
    column('status_reason', 'reason'),
    column('models_count', 'models'),
    column('latency_ms'),
    column('billing'),
    column('source'),
  ],
  'computers.list': [
    column('id'),
    column('name'),
    column('connection'),
    column('lifecycle'),
    column('owner.type', 'owner'),
    column('kind'),
  ],
}

/** All fields a row of this list can have, in an order independent of the rows. */
export function columnsOf({ area, name, endpoint: { reply } }: ListedEndpoint): Column[] {
  if (reply.kind !== 'page' && reply.kind !== 'results') return []
  const { schemas, defs } = convert('output', { row: reply.of })
  return ordered(fieldsIn(schemas.row!, defs), leading[name] ?? leading[area.name])
}

function fieldsIn(schema: Schema, defs: Record<string, Schema>): string[] {
  const { properties = {}, anyOf = [], oneOf = [], allOf = [] } = resolve(schema, defs)
  const parts = [...anyOf, ...oneOf, ...allOf].flatMap((part) => fieldsIn(part, defs))
  return [...new Set([...Object.keys(properties), ...parts])]
}

export function ordered(names: readonly string[], before: readonly Column[] = []): Column[] {
  const rank = (name: string): number => {
    if (first.includes(name)) return first.indexOf(name)
    // Costs and reasons matter, so they come early.
    if (/^pric(e|ing)\.|_usd$/.test(name)) return 50
    if (name === 'reason') return 60
    if (/_(id|source)$/.test(name) && !last.includes(name)) return 150
    return last.includes(name) ? 200 + last.indexOf(name) : 100
  }
  const rest = names.filter((name) => !before.some(({ path }) => path === name)).toSorted((a, b) => rank(a) - rank(b))
  return [...before, ...rest.map((name) => column(name))]
}

export const valueAt = (row: Record<string, unknown>, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], row)
