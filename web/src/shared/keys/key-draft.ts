import type { ApiKey, KeyDraft } from '../api.ts'
import { type Preset, presetOf, presets } from './scope-presets.ts'
import { type Period, capOf } from '../money/spend-cap.ts'

export type Expiry = 'never' | '7' | '30' | '90' | '365' | 'date'

export interface Draft {
  name: string
  preset: Preset
  scopes: readonly string[]
  workspace: string
  expiry: Expiry
  /** `YYYY-MM-DD`, for `date`. */
  day: string
  version: string
  cap: string
  period: Period
}

export const newDraft = (preset: Preset, workspace = ''): Draft => ({
  name: '',
  preset,
  scopes: presets.find(({ id }) => id === preset)!.scopes,
  workspace,
  expiry: 'never',
  day: '',
  version: '',
  cap: '',
  period: 'month',
})

export const draftOf = (key: ApiKey): Draft => ({
  name: key.name,
  preset: presetOf(key.scopes),
  scopes: key.scopes,
  workspace: key.workspace_id ?? '',
  expiry: key.expires_at === null ? 'never' : 'date',
  day: key.expires_at === null ? '' : localDay(new Date(key.expires_at)),
  version: key.version,
  cap: key.spend_cap_usd === null ? '' : String(key.spend_cap_usd),
  period: key.spend_cap_period,
})

const localDay = (date: Date): string =>
  [date.getFullYear(), date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0')).join('-')

function expiryOf({ expiry, day }: Draft, now: number): string | null {
  if (expiry === 'never') return null
  if (expiry === 'date') return day === '' ? null : new Date(`${day}T23:59:59`).toISOString()
  return new Date(now + Number(expiry) * 86_400_000).toISOString()
}

export function changesIn(draft: Draft, before: ApiKey, now = Date.now()) {
  const untouched = draft.expiry === 'date' && draft.day === draftOf(before).day
  return {
    name: draft.name,
    scopes: [...draft.scopes] as KeyDraft['scopes'],
    spend_cap_usd: capOf(draft.cap),
    spend_cap_period: draft.period,
    ...(!untouched && { expires_at: expiryOf(draft, now) }),
  }
}

export const keyIn = (draft: Draft, now = Date.now()): KeyDraft => ({
  name: draft.name,
  scopes: [...draft.scopes] as KeyDraft['scopes'],
  workspace_id: draft.workspace || null,
  expires_at: expiryOf(draft, now),
  ...(draft.version.trim() && { version: draft.version.trim() }),
  spend_cap_usd: capOf(draft.cap),
  spend_cap_period: draft.period,
})
