import { stat } from 'node:fs/promises'
import { contracts } from '#modules/contracts.ts'
import { type Incoming, pageIn } from '../../../client.ts'
import { Stop, codeOf } from '../../exit.ts'
import type { Globals } from '../../globals.ts'
import { parseArguments } from '../../input/arguments.ts'
import { textField } from '../../input/fields.ts'
import { readText } from '../../input/input.ts'
import { type Caller, callerOf } from '../../server/caller.ts'
import { withSession } from '../../server/session.ts'
import { workspaceOf } from '../../server/workspace.ts'
import { counted } from '../../output/amounts.ts'
import { clean, type Terminal } from '../../terminal.ts'
import { agreed, fileField, switchField } from './import.ts'
import { type KeyPlan, type PlannedKey, keysOf } from './litellm-keys.ts'
import { type LitellmPlan, type PlannedEndpoint, planOf } from './litellm-plan.ts'
import { shorten } from '#core/text/shorten.ts'

const MAX_BYTES = 10_000_000

/** `uk import litellm <config.yaml>`: imports models as provider endpoints with their keys, and the budget. */
export async function importLitellm(words: readonly string[], terminal: Terminal): Promise<number> {
  const fields = [
    fileField('file'),
    switchField('dry_run'),
    switchField('yes'),
    switchField('instance'),
    { ...textField('keys'), verbatim: true as const },
  ]
  const { input, globals } = await parseArguments(words, fields, readText)
  const plan = await read(String(input.file), terminal)
  const keys = input.keys === undefined ? null : await readKeys(String(input.keys), plan)
  plan.left.push(...(keys?.left ?? []))
  if (!globals.json) show(plan, keys, terminal)
  const totals: Totals = {
    keys: keys?.keys.length ?? 0,
    new_keys: [],
    keys_already: [],
    endpoints: plan.endpoints.length,
    made: 0,
    already: [],
    taken: [],
    budget: false,
  }
  const tell = (dryRun: boolean): Promise<number> => report(totals, plan, { globals, terminal, dryRun })
  if ((plan.endpoints.length === 0 && totals.keys === 0) || input.dry_run === true) return tell(input.dry_run === true)
  const caller = await callerOf(globals, terminal)
  const isInstance = input.instance === true
  const workspace = isInstance ? undefined : await workspaceOf(globals, caller, terminal)
  const place = isInstance ? 'for everyone on this server' : workspace ? `to ${workspace.name}` : 'for yourself only'
  if (!(await agreed(`Add these providers ${place}?`, { yes: input.yes === true }, globals, terminal)))
    return codeOf('ok')
  const owner = isInstance ? { instance: true } : workspace ? { workspace_id: workspace.id } : {}
  await addEndpoints(plan, owner, await slugsOf(caller, workspace?.id ?? null, isInstance), totals, caller)
  if (plan.budget && workspace) await setBudget(plan.budget, workspace.id, totals, caller)
  else if (plan.budget) plan.left.push('budget: add --workspace to set it as a workspace budget')
  if (keys !== null && keys.keys.length > 0) {
    try {
      await makeKeys(keys.keys, workspace?.id ?? null, totals, caller, globals, terminal)
    } catch (error) {
      // Show the created keys before failing: they can't be shown later.
      if (totals.new_keys.length > 0) await tell(false)
      throw error
    }
  }
  return tell(false)
}

interface Totals extends KeyTotals {
  keys: number
  endpoints: number
  made: number
  already: string[]
  taken: string[]
  budget: boolean
}

async function report(
  totals: Totals,
  plan: LitellmPlan,
  { globals, terminal, dryRun }: { globals: Globals; terminal: Terminal; dryRun: boolean },
): Promise<number> {
  if (globals.json)
    await terminal.out(
      `${JSON.stringify({ ...totals, dry_run: dryRun, renamed: plan.renamed, left_out: plan.left })}\n`,
    )
  else if (dryRun) terminal.err('Dry run. Nothing was imported.')
  else {
    terminal.err(
      `Added ${counted(totals.made, 'provider')}${totals.already.length > 0 ? `. ${totals.already.length} already existed` : ''}.`,
    )
    for (const slug of totals.taken) terminal.err(`Skipped ${slug}: another provider already uses this slug.`)
    if (totals.budget) terminal.err('Set the workspace budget.')
    if (totals.keys_already.length > 0)
      terminal.err(clean(`Keys with these names already exist: ${totals.keys_already.join(', ')}.`))
    if (totals.new_keys.length > 0) {
      terminal.err(`Created ${counted(totals.new_keys.length, 'key')}. This is the only time they're shown:`)
      await terminal.out(totals.new_keys.map(({ name, key }) => clean(`${key}  ${name}`) + '\n').join(''))
    }
  }
  return codeOf('ok')
}

async function addEndpoints(
  plan: LitellmPlan,
  owner: object,
  existing: Awaited<ReturnType<typeof slugsOf>>,
  totals: Totals,
  caller: Caller,
): Promise<void> {
  for (const endpoint of plan.endpoints) {
    const address = existing.get(endpoint.slug)
    if (address === undefined) {
      await add(endpoint, owner, caller)
      totals.made += 1
    } else if (endpoint.base_url === null || sameAddress(address, endpoint.base_url)) totals.already.push(endpoint.slug)
    else totals.taken.push(endpoint.slug)
  }
}

async function setBudget(
  { usd, period }: NonNullable<LitellmPlan['budget']>,
  workspaceId: string,
  totals: Totals,
  caller: Caller,
): Promise<void> {
  const { update } = (await contracts.workspaces()).endpoints
  await caller.call(update, { id: workspaceId, spend_cap_usd: usd, spend_cap_period: period })
  totals.budget = true
}

const SCOPES = ['gateway:run', 'inference:run', 'model:read']

interface KeyTotals {
  new_keys: { name: string; key: string }[]
  keys_already: string[]
}

/** Creates keys in a session, which needs the password. Adds each to `totals` as soon as it exists. */
async function makeKeys(
  keys: readonly PlannedKey[],
  workspaceId: string | null,
  totals: KeyTotals,
  { target }: Caller,
  globals: Globals,
  terminal: Terminal,
): Promise<void> {
  const { list, create } = (await contracts.api_keys()).endpoints
  const why = 'Creating API keys requires your password.'
  await withSession(
    target.origin,
    globals,
    terminal,
    async (call) => {
      const there = new Set<string>()
      for (let cursor: string | null = null; ;) {
        const answer: Incoming = await call(list, { status: 'active', limit: 100, ...(cursor !== null && { cursor }) })
        const { rows, next } = pageIn(JSON.parse(await answer.text()))
        for (const { name } of rows as { name: string }[]) there.add(name)
        if (next === null) break
        cursor = next
      }
      for (const key of keys)
        if (there.has(key.name)) totals.keys_already.push(key.name)
        else {
          const answer = await call(create, { ...key, scopes: SCOPES, workspace_id: workspaceId })
          const { data } = JSON.parse(await answer.text()) as { data: { key: string } }
          totals.new_keys.push({ name: key.name, key: data.key })
        }
    },
    { why },
  )
}

async function readKeys(path: string, { called }: LitellmPlan): Promise<KeyPlan> {
  const stats = await stat(path).catch(() => null)
  if (!stats?.isFile()) throw new Stop('usage', `Can't read ${path}.`)
  if (stats.size > MAX_BYTES) throw new Stop('usage', `${path} is larger than ${MAX_BYTES / 1e6} MB.`)
  try {
    return keysOf(JSON.parse(await readText(path)), called, Date.now())
  } catch (error) {
    throw new Stop('usage', `${path} isn't a valid key list: ${shorten((error as Error).message, 200)}.`)
  }
}

async function read(path: string, terminal: Terminal): Promise<LitellmPlan> {
  const stats = await stat(path).catch(() => null)
  if (!stats?.isFile()) throw new Stop('usage', `Can't read ${path}.`)
  if (stats.size > MAX_BYTES) throw new Stop('usage', `${path} is larger than ${MAX_BYTES / 1e6} MB.`)
  const { parse } = await import('yaml')
  try {
    return planOf(parse(await readText(path), { maxAliasCount: 100, logLevel: 'silent' }), terminal.env)
  } catch (error) {
    throw new Stop('usage', `${path} isn't a valid config.yaml: ${(error as Error).message.split('\n')[0]}.`)
  }
}

function show({ endpoints, renamed, budget, left }: LitellmPlan, keys: KeyPlan | null, terminal: Terminal): void {
  terminal.err(`${counted(endpoints.length, 'provider')}:`)
  for (const { slug, base_url, api_key, models } of endpoints)
    terminal.err(
      clean(
        `  ${slug}  ${base_url ?? 'default URL'}  ${api_key === null ? 'no key' : 'with key'}  ${models.map(({ id }) => id).join(', ')}`,
      ),
    )
  if (renamed.length > 0) terminal.err('New model names:')
  for (const { was, now } of renamed) terminal.err(clean(`  ${was} → ${now}`))
  if (budget) terminal.err(`Budget: ${budget.usd} USD per ${budget.period}`)
  if (keys !== null && keys.keys.length > 0) {
    terminal.err(
      `${counted(keys.keys.length, 'new key')}. LiteLLM stores only hashes, so everyone who has a key needs the new one.`,
    )
    for (const { name, spend_cap_usd, spend_cap_period, allowed_models, expires_at } of keys.keys) {
      const cap =
        spend_cap_usd === null
          ? 'no cap'
          : `${spend_cap_usd} USD ${spend_cap_period === 'total' ? 'in total' : `per ${spend_cap_period}`}`
      terminal.err(
        clean(
          `  ${name}  ${cap}  ${allowed_models?.join(', ') ?? 'all models'}${expires_at === null ? '' : `  until ${expires_at}`}`,
        ),
      )
    }
  }
  if (left.length > 0) terminal.err('Skipped:')
  for (const line of left) terminal.err(clean(`  ${line}`))
}

async function slugsOf({ call }: Caller, workspaceId: string | null, instance: boolean): Promise<Map<string, string>> {
  const { list } = (await contracts.ai_gateway()).endpoints
  const urls = new Map<string, string>()
  for (let cursor: string | null = null; ;) {
    const answer: Incoming = await call(list, { limit: 100, ...(cursor !== null && { cursor }) })
    const { rows, next } = pageIn(JSON.parse(await answer.text()))
    for (const one of rows as { slug: string; base_url: string; workspace_id: string | null; instance: boolean }[])
      if (one.workspace_id === workspaceId && one.instance === instance) urls.set(one.slug, one.base_url)
    if (next === null) return urls
    cursor = next
  }
}

const sameAddress = (a: string, b: string): boolean => a.replace(/\/+$/, '') === b.replace(/\/+$/, '')

async function add(endpoint: PlannedEndpoint, owner: object, { call }: Caller): Promise<void> {
  const { create } = (await contracts.ai_gateway()).endpoints
  const fields = Object.fromEntries(Object.entries(endpoint).filter(([, value]) => value !== null))
  await call(create, { ...fields, ...owner })
}
