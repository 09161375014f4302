import { isObject, millisecondsOf, textOr } from './formats/conversation.ts'
import { periodOf } from './litellm-plan.ts'
import { shorten } from '#core/text/shorten.ts'

/**
 * Virtual keys of a LiteLLM proxy, as `GET /key/list?return_full_object=true` answers them (`{keys: [...]}`) or as rows of its table
 * `LiteLLM_VerificationToken` in JSON. The keys themselves are not in it, only their hashes: others are made, with the same name,
 * cap, models and end. Pure. https://docs.litellm.ai/docs/proxy/virtual_keys
 */
export interface PlannedKey {
  name: string
  spend_cap_usd: number | null
  spend_cap_period: 'day' | 'week' | 'month' | 'total'
  allowed_models: string[] | null
  expires_at: string | null
}

export interface KeyPlan {
  keys: PlannedKey[]
  /** The things that stay behind, and why. */
  left: string[]
}

/** Words of LiteLLM's for all models. */
const ALL: ReadonlySet<string> = new Set(['all-proxy-models', 'all-team-models', '*'])
const MOST_KEYS = 1_000

/** `called`: the models of its `config.yaml` as they are called here, by their names there. */
export function keysOf(given: unknown, called: ReadonlyMap<string, readonly string[]>, now: number): KeyPlan {
  const rows = isObject(given) ? given.keys : given
  if (!Array.isArray(rows)) throw new TypeError('it is not a list of keys')
  if (rows.length > MOST_KEYS) throw new TypeError(`it has more than ${MOST_KEYS} keys`)
  const plan: KeyPlan = { keys: [], left: [] }
  const taken = new Set<string>()
  for (const row of rows) {
    if (!isObject(row)) {
      plan.left.push('an entry that is only a hash: ask for the list with return_full_object=true')
      continue
    }
    planKey(row, called, now, plan, taken)
  }
  return plan
}

function planKey(
  row: Record<string, unknown>,
  called: ReadonlyMap<string, readonly string[]>,
  now: number,
  plan: KeyPlan,
  taken: Set<string>,
): void {
  const alias = textOr(row.key_alias, '') || textOr(row.key_name, '')
  const name = shorten(alias === '' ? 'LiteLLM key' : alias, 100)
  const leave = (why: string): void => void plan.left.push(`the key ${name}: ${why}`)
  if (taken.has(name)) return leave('another key above has this name')
  if (row.blocked === true) return leave('it is blocked')
  const ends = row.expires === null || row.expires === undefined ? null : millisecondsOf(row.expires)
  if (ends !== null && ends <= now) return leave('it has expired')
  const cap = amountOf(row.max_budget)
  const duration = textOr(row.budget_duration, '')
  const period = duration === '' ? 'total' : periodOf(duration)
  // A cap over another time would be a looser or a tighter one.
  if (cap !== null && period === undefined)
    return leave(`its budget is over ${duration}, and caps here are over a day, a week, a month or in total`)
  const models = modelsOf(row.models, called)
  if (models !== null && models.length === 0) return leave('none of its models is in config.yaml')
  for (const [word, why] of [
    ['rpm_limit', 'rates are the same for all callers here'],
    ['tpm_limit', 'rates are the same for all callers here'],
    ['team_id', 'a team is a workspace here'],
  ] as const)
    if (row[word] !== null && row[word] !== undefined) plan.left.push(`the key ${name}: ${word}; ${why}`)
  taken.add(name)
  plan.keys.push({
    name,
    spend_cap_usd: cap,
    spend_cap_period: cap === null || period === undefined ? 'total' : period,
    allowed_models: models,
    expires_at: ends === null ? null : new Date(ends).toISOString(),
  })
}

function amountOf(given: unknown): number | null {
  const usd = typeof given === 'number' ? given : Number.NaN
  return Number.isFinite(usd) && usd >= 0 ? usd : null
}

/** Null: all of them. */
function modelsOf(given: unknown, called: ReadonlyMap<string, readonly string[]>): string[] | null {
  const names = Array.isArray(given) ? given.filter((one): one is string => typeof one === 'string') : []
  if (names.length === 0 || names.some((name) => ALL.has(name))) return null
  return [...new Set(names.flatMap((name) => called.get(name) ?? []))]
}
