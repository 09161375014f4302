import { refuse } from '#core/errors.ts'
import type { ListedOffer } from '../../model/offer.ts'

const ACTIVE = 'active'
const LINES = ['haiku', 'sonnet', 'opus', 'fable', 'mythos']

export const writeModel = ({
  slug,
  name,
  upstreamModel,
  createdAt,
  contextLength,
  maxOutputTokens,
}: ListedOffer): object => ({
  type: 'model',
  id: slug,
  display_name: name,
  created_at: createdAt,
  lifecycle: ACTIVE,
  deprecated_at: null,
  retires_at: null,
  line: LINES.find((line) => upstreamModel.includes(`claude-${line}`)) ?? null,
  max_input_tokens: contextLength,
  max_tokens: maxOutputTokens,
  capabilities: null,
})

const MAX = 1_000

/** `limit` 1–1000 (20), `after_id` or `before_id` of an earlier page; `lifecycle[]` filters by state. */
export function writeModels(rows: readonly ListedOffer[], query: URLSearchParams): object {
  const limit = Number(query.get('limit') ?? 20)
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX)
    refuse('invalid_parameter', { message: `limit: must be a whole number from 1 to ${MAX}`, param: 'limit' })
  const lives = query.getAll('lifecycle[]')
  if (lives.length > 0 && !lives.includes(ACTIVE)) rows = []
  const before = query.get('before_id')
  const remaining =
    before === null
      ? rows.slice(at(rows, query.get('after_id'), 'after_id') + 1)
      : rows.slice(0, at(rows, before, 'before_id'))
  const page = before === null ? remaining.slice(0, limit) : remaining.slice(-limit)
  return {
    data: page.map(writeModel),
    has_more: remaining.length > page.length,
    first_id: page.at(0)?.slug ?? null,
    last_id: page.at(-1)?.slug ?? null,
  }
}

function at(rows: readonly ListedOffer[], id: string | null, param: string): number {
  if (id === null) return -1
  const index = rows.findIndex(({ slug }) => slug === id)
  return index >= 0 ? index : refuse('invalid_parameter', { message: `${param}: the model ${id} doesn’t exist`, param })
}
