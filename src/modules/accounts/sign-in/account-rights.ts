/** The rows that principals are made from. */
import type { Id } from '#core/ids.ts'
import type { Credential, Membership, ModelRule, PayingKey, Principal, Tier } from '#core/principal.ts'
import { type Role, grants } from '#core/scopes.ts'
import type { Period } from '#core/time.ts'

export interface AccountRights {
  account_id: Id
  tier: Tier
  administrator: boolean
  personal_workspace_id: Id
  memberships:
    | {
        id: Id
        role: Role
        permissions: string[] | null
        status: 'active' | 'archived'
        cap: string | null
        cap_period: Period
        allowed: string[] | null
        keys: 'any' | 'workspace'
        /** The limits of the membership. Null for most. */
        own: {
          id: Id
          cap: string | null
          cap_period: Period
          allowed: string[] | null
          keys: 'any' | 'workspace'
        } | null
      }[]
    | null
}

export const RIGHTS = `a.id as account_id, a.tier, a.administrator, a.personal_workspace_id,
  (select json_agg(json_build_object('id', m.workspace_id, 'role', m.role, 'permissions', m.permissions, 'status', w.status,
     'cap', w.spend_cap_nano::text, 'cap_period', w.spend_cap_period, 'allowed', w.allowed_models, 'keys', w.keys,
     'own', case when m.spend_cap_nano is not null or m.allowed_models is not null or m.keys <> 'any' then
       json_build_object('id', m.id, 'cap', m.spend_cap_nano::text, 'cap_period', m.spend_cap_period,
         'allowed', m.allowed_models, 'keys', m.keys) end))
   from members m join workspaces w on w.id = m.workspace_id where m.account_id = a.id) as memberships`

export interface KeyColumns {
  id: Id
  workspace_id: Id | null
  scopes: string[]
  version: string
  expires_at: Date | null
  revoked_at: Date | null
  spend_cap_nano: bigint | null
  spend_cap_period: 'day' | 'week' | 'month' | 'total'
  allowed_models: string[] | null
  previous: boolean
  previous_expires_at: Date | null
}

export type PayingKeyColumns = Pick<
  KeyColumns,
  'id' | 'workspace_id' | 'revoked_at' | 'spend_cap_nano' | 'spend_cap_period' | 'allowed_models'
>

/** Null if the key was revoked, or replaced without a grace period for the previous secret. */
export function keyCredentialOf(row: KeyColumns): Credential | null {
  const expiresAt = row.previous ? row.previous_expires_at : row.expires_at
  if (row.revoked_at !== null || (row.previous && expiresAt === null)) return null
  return {
    kind: 'key',
    id: row.id,
    scopes: grants(row.scopes),
    workspaceId: row.workspace_id,
    version: row.version,
    expiresAt: row.previous && row.expires_at !== null && row.expires_at < expiresAt! ? row.expires_at : expiresAt,
    spendCap: row.spend_cap_nano === null ? null : { nano: row.spend_cap_nano, period: row.spend_cap_period },
    ...(row.allowed_models !== null && { allowedModels: row.allowed_models }),
  }
}

export const payingKeyOf = (row: Partial<PayingKeyColumns>): PayingKey | null =>
  row.id
    ? {
        id: row.id,
        cap:
          typeof row.spend_cap_nano === 'bigint' ? { nano: row.spend_cap_nano, period: row.spend_cap_period! } : null,
        workspaceId: row.workspace_id ?? null,
        ...(row.allowed_models && { allowedModels: row.allowed_models }),
      }
    : null

export const principalOf = (row: AccountRights, credential: Credential): Principal => ({
  accountId: row.account_id,
  tier: row.tier,
  administrator: row.administrator,
  personalWorkspaceId: row.personal_workspace_id,
  credential,
  memberships: new Map(
    (row.memberships ?? []).map((place): [Id, Membership] => {
      const { id, role, permissions, status, cap, cap_period: period, own } = place
      const rules = rulesIn(place)
      const keysOnly = place.keys === 'workspace' ? 'workspace' : own?.keys === 'workspace' ? 'member' : null
      return [
        id,
        {
          role,
          permissions: permissions && grants(permissions),
          status,
          ...(cap !== null && { budget: { nano: BigInt(cap), period } }),
          ...(own !== null &&
            own.cap !== null && { ownBudget: { subject: own.id, nano: BigInt(own.cap), period: own.cap_period } }),
          ...(rules.length > 0 && { rules }),
          ...(keysOnly !== null && { keysOnly }),
        },
      ]
    }),
  ),
})

const rulesIn = ({ allowed, own }: NonNullable<AccountRights['memberships']>[number]): ModelRule[] => [
  ...(allowed === null ? [] : [{ kind: 'allowed' as const, of: 'workspace' as const, models: allowed }]),
  ...(own === null || own.allowed === null
    ? []
    : [{ kind: 'allowed' as const, of: 'member' as const, models: own.allowed }]),
]
