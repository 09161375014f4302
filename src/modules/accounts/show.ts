import type { z } from 'zod'
import { iso, isoOrNull } from '#core/time.ts'
import type { Account, Session, Settings } from './contract.ts'
import type { AccountRow, SessionRow } from './store.ts'

export const showAccount = (row: AccountRow): z.output<typeof Account> => ({
  id: row.id,
  email: row.email,
  email_verified_at: isoOrNull(row.email_verified_at),
  name: row.name,
  tier: row.tier,
  administrator: row.administrator,
  personal_workspace_id: row.personal_workspace_id,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

export const showSession = (row: SessionRow, account: AccountRow, currentId: string): z.output<typeof Session> => ({
  id: row.id,
  account: showAccount(account),
  user_agent: row.user_agent,
  ip: row.ip,
  last_used_at: isoOrNull(row.last_used_at),
  expires_at: iso(row.expires_at),
  created_at: iso(row.created_at),
  current: row.id === currentId,
})

const defaults = { locale: null, time_zone: null, theme: 'system' as const, default_model: null }

export const showSettings = (row: AccountRow): z.output<typeof Settings> => ({
  id: row.id,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  ...defaults,
  ...(row.settings as Partial<z.output<typeof Settings>>),
})
