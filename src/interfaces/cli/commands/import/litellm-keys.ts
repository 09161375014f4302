import { isObject, millisecondsOf, textOr } from './formats/conversation.ts'
import { periodOf } from './litellm-plan.ts'
import { shorten } from '#core/text/shorten.ts'

/**
 * Virtual keys of a LiteLLM proxy, from `GET /key/list?return_full_object=true` (`{keys: [...]}`) or as JSON rows of
 * its `LiteLLM_VerificationToken` table. It contains only hashes, so new keys are created with the same name, cap,
 * models and expiry. Pure. https://docs.litellm.ai/docs/proxy/virtual_keys
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
  left: string[]
}

/** LiteLLM's names for "all models". */
const ALL: ReadonlySet<string> = new Set(['all-proxy-models', 'all-team-models', '*'])
const MAX_KEYS = 1_000

/** `modelNames`: new model names by their names in its `config.yaml`. */
export function keysOf(json: unknown, modelNames: ReadonlyMap<string, readonly string[]>, now: number): KeyPlan {
  const rows = isObject(json) ? json.keys : json
  if (!Array.isArray(rows)) throw new TypeError('not a list of keys')
  if (rows.length > MAX_KEYS) throw new TypeError(`more than ${MAX_KEYS} keys`)
  const plan: KeyPlan = { keys: [], left: [] }
  const names = new Set<string>()
  for (const row of rows) {
    if (!isObject(row)) {
      plan.left.push('an entry that is only a hash: export the list with return_full_object=true')
      continue
    }
    planKey(row, modelNames, now, plan, names)
  }
  return plan
}

function planKey(
  row: Record<string, unknown>,
  modelNames: ReadonlyMap<string, readonly string[]>,
  now: number,
  plan: KeyPlan,
  names: Set<string>,
): void {
  const alias = textOr(row.key_alias, '') || textOr(row.key_name, '')
  const name = shorten(alias === '' ? 'LiteLLM key' : alias, 100)
  const leave = (why: string): void => void plan.left.push(`key ${name}: ${why}`)
  if (names.has(name)) return leave('duplicate name')
  if (row.blocked === true) return leave('blocked')
  const ends = row.expires === null || row.expires === undefined ? null : millisecondsOf(row.expires)
  if (ends !== null && ends <= now) return leave('expired')
  const cap = amountOf(row.max_budget)
  const duration = textOr(row.budget_duration, '')
  const period = duration === '' ? 'total' : periodOf(duration)
  // Another period would change the cap.
  if (cap !== null && period === undefined)
    return leave(`budget period ${duration} isn't supported. Spend caps apply per day, week, month or in total`)
  const models = modelsOf(row.models, modelNames)
  if (models !== null && models.length === 0) return leave('none of its models are in config.yaml')
  for (const [word, why] of [
    ['rpm_limit', "rate limits per key aren't supported"],
    ['tpm_limit', "rate limits per key aren't supported"],
    ['team_id', 'create a workspace for the team'],
  ] as const)
    if (row[word] !== null && row[word] !== undefined) plan.left.push(`key ${name}: ${word} ignored; ${why}`)
  names.add(name)
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

function modelsOf(list: unknown, modelNames: ReadonlyMap<string, readonly string[]>): string[] | null {
  const names = Array.isArray(list) ? list.filter((one): one is string => typeof one === 'string') : []
  if (names.length === 0 || names.some((name) => ALL.has(name))) return null
  return [...new Set(names.flatMap((name) => modelNames.get(name) ?? []))]
}
