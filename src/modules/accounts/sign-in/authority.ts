import { hash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { Bus } from '#infra/bus/bus.ts'
import type { Log } from '#infra/log.ts'
import type { Postgres } from '#infra/postgres/client.ts'
import type { RightsWatch } from '#authz/rights.ts'
import { hashSecret, isWellFormed } from '#authz/api-key.ts'
import { type Code, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { ModelRule, Authority, Credential, Membership, Principal, Tier } from '#core/principal.ts'
import { type Role, grants } from '#core/scopes.ts'
import type { Period } from '#core/time.ts'
import { Listening } from './listening.ts'
import { SESSION_IDLE_SECONDS } from './sessions.ts'

/** A secret that was looked up: whose it is, or why it is refused. Forgotten when a right of the account changes. */
type Known = { principal: Principal; used: () => void } | { refused: Code; accountId: Id }

/** Where a principal came from: its place in memory, and the look-up. */
interface Source {
  key: string
  load(): Promise<Principal>
}

const MOST_KNOWN = 100_000
const USED_FLUSH_MS = 10_000

interface AccountRights {
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
        /** The limits of the membership; null where it has none, as most. */
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

const RIGHTS = `a.id as account_id, a.tier, a.administrator, a.personal_workspace_id,
  (select json_agg(json_build_object('id', m.workspace_id, 'role', m.role, 'permissions', m.permissions, 'status', w.status,
     'cap', w.spend_cap_nano::text, 'cap_period', w.spend_cap_period, 'allowed', w.allowed_models, 'keys', w.keys,
     'own', case when m.spend_cap_nano is not null or m.allowed_models is not null or m.keys <> 'any' then
       json_build_object('id', m.id, 'cap', m.spend_cap_nano::text, 'cap_period', m.spend_cap_period,
         'allowed', m.allowed_models, 'keys', m.keys) end))
   from members m join workspaces w on w.id = m.workspace_id where m.account_id = a.id) as memberships`

export interface AuthorityParts {
  postgres: Postgres
  bus: Bus
  log: Log
  rights: RightsWatch
  /** The number of processes that share the database. */
  processes: () => number
}

/** Knows who is behind keys and session tokens: from memory for what was asked before, else from the database. */
export function createAuthority({
  postgres,
  bus,
  log,
  rights,
  processes,
}: AuthorityParts): Authority & AsyncDisposable & { refresh(): Promise<void>; mayLag(): boolean } {
  /** The way in which a principal was found, for finding it again. */
  const sources = new WeakMap<Principal, Source>()
  const renewals = new Map<string, { heard: number; principal: Promise<Principal> }>()
  const known = new Map<string, Known>()
  const byAccount = new Map<Id, Set<string>>()
  const changes = new EventEmitter().setMaxListeners(0)
  const usedKeys = new Set<Id>()
  const usedSessions = new Set<Id>()

  /** The number of changes of rights that were heard of. */
  let heard = 0

  const hearing = rights.hear((accountId) => {
    heard += 1
    for (const key of byAccount.get(accountId) ?? []) known.delete(key)
    byAccount.delete(accountId)
    changes.emit(accountId)
  })
  const timer = setInterval(() => void flushUsed(), USED_FLUSH_MS)

  /** A look-up that began before a change was heard of may be from before it: it serves this one call. */
  function remember(key: string, entry: Known, heardBefore: number): Known {
    if (heard !== heardBefore) return entry
    // A full memory starts again rather than grow: secrets in use come back with their next call.
    if (known.size >= MOST_KNOWN) {
      known.clear()
      byAccount.clear()
    }
    const accountId = 'principal' in entry ? entry.principal.accountId : entry.accountId
    known.set(key, entry)
    const keys = byAccount.get(accountId) ?? new Set()
    byAccount.set(accountId, keys.add(key))
    return entry
  }

  const hasEnded = (entry: Known): boolean => {
    const credential = 'principal' in entry ? entry.principal.credential : null
    return credential?.kind === 'session' && credential.expiresAt.getTime() <= Date.now()
  }

  function admit(entry: Known): Principal {
    if ('refused' in entry) return refuse(entry.refused)
    const { credential } = entry.principal
    if (isPast(credential)) return refuse(credential.kind === 'key' ? 'expired_api_key' : 'session_expired')
    entry.used()
    return entry.principal
  }

  /** Refuses from memory only once changes of this moment were read: another process may have extended the credential. */
  function admitKnown(entry: Known, key: string, load: () => Promise<Principal>): Principal | Promise<Principal> {
    if ('principal' in entry && !isPast(entry.principal.credential)) return admit(entry)
    return rights.poll().then(() => (known.get(key) === entry ? admit(entry) : load()))
  }

  /** Callers of one key whose rights are read again share the look-up, unless a change was heard of since it began. */
  function loadOnce({ key, load }: Source): Promise<Principal> {
    const running = renewals.get(key)
    if (running?.heard === heard) return running.principal
    const principal = load().finally(() => {
      if (renewals.get(key)?.principal === principal) renewals.delete(key)
    })
    renewals.set(key, { heard, principal })
    return principal
  }

  async function loadKey(keyHash: Buffer, key: string): Promise<Principal> {
    const before = heard
    const { rows } = await postgres.pool.query<AccountRights & KeyColumns>({
      name: 'authority_key',
      text: `select ${RIGHTS}, k.id, k.workspace_id, k.scopes, k.version, k.expires_at, k.revoked_at,
          k.spend_cap_nano, k.spend_cap_period, k.allowed_models, k.key_hash <> $1 as previous, k.previous_expires_at
        from api_keys k join accounts a on a.id = k.account_id where k.key_hash = $1 or k.previous_hash = $1`,
      values: [keyHash],
    })
    const row = rows[0]
    if (!row) return refuse('invalid_api_key')
    const expiresAt = row.previous ? row.previous_expires_at : row.expires_at
    if (row.revoked_at !== null || (row.previous && expiresAt === null))
      return admit(remember(key, { refused: 'revoked_api_key', accountId: row.account_id }, before))
    const credential: Credential = {
      kind: 'key',
      id: row.id,
      scopes: grants(row.scopes),
      workspaceId: row.workspace_id,
      version: row.version,
      expiresAt: row.previous && row.expires_at !== null && row.expires_at < expiresAt! ? row.expires_at : expiresAt,
      spendCap: row.spend_cap_nano === null ? null : { nano: row.spend_cap_nano, period: row.spend_cap_period },
      ...(row.allowed_models !== null && { allowedModels: row.allowed_models }),
    }
    const principal = principalOf(row, credential)
    sources.set(principal, { key, load: () => loadKey(keyHash, key) })
    return admit(remember(key, { principal, used: () => usedKeys.add(row.id) }, before))
  }

  async function loadSession(tokenHash: Buffer, key: string): Promise<Principal> {
    const before = heard
    const { rows } = await postgres.pool.query<AccountRights & { id: Id; expires_at: Date }>({
      name: 'authority_session',
      text: `select ${RIGHTS}, s.id,
          least(s.expires_at, coalesce(s.last_used_at, s.created_at) + make_interval(secs => $2)) as expires_at
        from sessions s join accounts a on a.id = s.account_id where s.token_hash = $1`,
      values: [tokenHash, SESSION_IDLE_SECONDS],
    })
    const row = rows[0]
    if (!row) return refuse('session_expired')
    const credential: Credential = { kind: 'session', id: row.id, expiresAt: row.expires_at }
    const principal = principalOf(row, credential)
    sources.set(principal, { key, load: () => loadSession(tokenHash, key) })
    return admit(remember(key, { principal, used: () => usedSessions.add(row.id) }, before))
  }

  /** Writes in batches when keys and sessions were last used, not with every call. */
  async function flushUsed(): Promise<void> {
    const keys = [...usedKeys]
    const sessions = [...usedSessions]
    usedKeys.clear()
    usedSessions.clear()
    try {
      if (keys.length > 0)
        await postgres.pool.query('update api_keys set last_used_at = now() where id = any($1)', [keys])
      if (sessions.length > 0)
        await postgres.pool.query('update sessions set last_used_at = now() where id = any($1)', [sessions])
    } catch (error) {
      log.warn({ error }, 'the time of last use was not written')
    }
  }

  function byKey(secret: string, connection?: object): Principal | Promise<Principal> {
    if (!rights.inTouch()) return rights.catchUp().then(() => byKey(secret, connection))
    const key = connection === undefined ? hash('sha256', secret, 'base64') : hashOn(connection, secret)
    const entry = known.get(key)
    if (entry) return admitKnown(entry, key, () => loadKey(hash('sha256', secret, 'buffer'), key))
    if (!isWellFormed(secret)) return refuse('invalid_api_key')
    return loadKey(hash('sha256', secret, 'buffer'), key)
  }

  function bySession(token: string): Principal | Promise<Principal> {
    if (!rights.inTouch()) return rights.catchUp().then(() => bySession(token))
    const key = `session ${hash('sha256', token, 'base64')}`
    const entry = known.get(key)
    // Being used moves the idle end of a session on, which memory does not see: at its end the database is asked.
    return entry && !hasEnded(entry) ? admit(entry) : loadSession(hashSecret(token), key)
  }

  return {
    byKey,
    bySession,
    async refresh() {
      await rights.poll()
      bus.poke('rights')
    },
    async renew(principal) {
      const source = sources.get(principal)
      if (source === undefined) return principal
      // A change takes what is known of its account along.
      await rights.poll()
      const entry = known.get(source.key)
      return entry === undefined ? loadOnce(source) : admit(entry)
    },
    mayLag: () => processes() > 1,
    onChange(accountId, recheck) {
      return new Listening(changes, accountId, recheck)
    },
    async onBehalf(accountId, scopes, workspaceId, payingKeyId = null) {
      const { rows } = await postgres.pool.query<
        AccountRights &
          Partial<
            Pick<
              KeyColumns,
              'id' | 'workspace_id' | 'revoked_at' | 'spend_cap_nano' | 'spend_cap_period' | 'allowed_models'
            >
          >
      >({
        name: 'authority_account',
        text: `select ${RIGHTS}, k.id, k.workspace_id, k.revoked_at, k.spend_cap_nano, k.spend_cap_period,
            k.allowed_models
          from accounts a left join api_keys k on k.id = $2 and k.account_id = a.id where a.id = $1`,
        values: [accountId, payingKeyId],
      })
      const row = rows[0]
      if (!row || row.revoked_at) return null
      const payingKey = row.id
        ? {
            id: row.id,
            cap:
              typeof row.spend_cap_nano === 'bigint'
                ? { nano: row.spend_cap_nano, period: row.spend_cap_period! }
                : null,
            workspaceId: row.workspace_id ?? null,
            ...(row.allowed_models && { allowedModels: row.allowed_models }),
          }
        : null
      return principalOf(row, { kind: 'server', scopes: grants(scopes), workspaceId, ...(payingKey && { payingKey }) })
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await flushUsed()
      hearing[Symbol.dispose]()
    },
  }
}

const isPast = (credential: Credential): boolean =>
  credential.kind !== 'server' && credential.expiresAt !== null && credential.expiresAt.getTime() <= Date.now()

// Hashing costs a call more than all that is then looked up, and a connection sends the same key again and again.
const lastOn = new WeakMap<object, { secret: string; hash: string }>()

/** The hash of a key, remembered with the connection that it came on for as long as that is open. */
function hashOn(connection: object, secret: string): string {
  const last = lastOn.get(connection)
  if (last?.secret === secret) return last.hash
  const fresh = { secret, hash: hash('sha256', secret, 'base64') }
  lastOn.set(connection, fresh)
  return fresh.hash
}

interface KeyColumns {
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

const principalOf = (row: AccountRights, credential: Credential): Principal => ({
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
