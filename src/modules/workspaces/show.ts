import type { z } from 'zod'
import type { Membership } from '#core/principal.ts'
import { type Nano, toUsd, usdOrNull } from '#core/money.ts'
import { iso, isoOrNull } from '#core/time.ts'
import type { Member, Workspace } from './contract.ts'
import type { Invitation } from './contract-invitations.ts'
import type { InvitationRow } from './invitation-store.ts'
import type { NamedMember } from './member-store.ts'
import type { CountedWorkspace } from './store.ts'

export const showWorkspace = (
  row: CountedWorkspace,
  { role, permissions }: Pick<Membership, 'role' | 'permissions'>,
  spent: Nano,
): z.output<typeof Workspace> => ({
  id: row.id,
  name: row.name,
  description: row.description,
  kind: row.kind,
  status: row.status,
  archived_at: isoOrNull(row.archived_at),
  created_by: row.created_by,
  spend_cap_usd: usdOrNull(row.spend_cap_nano),
  spend_cap_period: row.spend_cap_period,
  spent_usd: toUsd(spent),
  keys: row.keys,
  allowed_models: row.allowed_models,
  member_count: row.member_count,
  role,
  permissions: permissions && [...permissions],
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** `spent`: null if the caller may not see it. */
export const showMember = (row: NamedMember, spent: Nano | null): z.output<typeof Member> => ({
  id: row.id,
  workspace_id: row.workspace_id,
  user_id: row.account_id,
  name: row.name,
  email: row.email,
  role: row.role,
  permissions: row.permissions,
  spend_cap_usd: usdOrNull(row.spend_cap_nano),
  spend_cap_period: row.spend_cap_period,
  spent_usd: usdOrNull(spent),
  keys: row.keys,
  allowed_models: row.allowed_models,
  created_by: row.created_by,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** A pending invitation past its expiry reads as `expired`, although its row isn't updated. */
export const statusOf = (row: Pick<InvitationRow, 'status' | 'expires_at'>, now: Date) =>
  row.status === 'pending' && row.expires_at <= now ? 'expired' : row.status

export const showInvitation = (row: InvitationRow, now: Date): z.output<typeof Invitation> => ({
  id: row.id,
  workspace_id: row.workspace_id,
  email: row.email,
  role: row.role,
  permissions: row.permissions,
  spend_cap_usd: usdOrNull(row.spend_cap_nano),
  spend_cap_period: row.spend_cap_period,
  status: statusOf(row, now),
  expires_at: iso(row.expires_at),
  accepted_by: row.accepted_by,
  accepted_at: isoOrNull(row.accepted_at),
  revoked_at: isoOrNull(row.revoked_at),
  created_by: row.created_by,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})
