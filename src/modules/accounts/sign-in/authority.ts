import { hash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import type { Bus } from '#infra/bus/bus.ts'
import type { Log } from '#infra/log.ts'
import type { Postgres } from '#infra/postgres/client.ts'
import type { RightsWatch } from '#authz/rights.ts'
import { hashSecret, isWellFormed } from '#authz/api-key.ts'
import { type Code, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import type { Authority, Credential, Principal } from '#core/principal.ts'
import { grants } from '#core/scopes.ts'
import {
  type AccountRights,
  type KeyColumns,
  type PayingKeyColumns,
  RIGHTS,
  keyCredentialOf,
  payingKeyOf,
  principalOf,
} from './account-rights.ts'
import { Listening } from './listening.ts'
import { SESSION_IDLE_SECONDS } from './sessions.ts'

/** The result of looking up a secret. Dropped when the rights of its account change. */
type Entry = { principal: Principal; used: () => void } | { refused: Code; accountId: Id }

/** How to find a principal again: its key in memory, and the query. */
interface Source {
  key: string
  load(): Promise<Principal>
}

const MAX_ENTRIES = 100_000
const USED_FLUSH_MS = 10_000

export interface SharedAuthority extends Authority, AsyncDisposable {
  /** Makes changes of rights take effect in this process, then in the others. */
  refresh(): Promise<void>
  /** Whether another process may not have read the latest changes yet. */
  mayLag(): boolean
}

export interface AuthorityParts {
  postgres: Postgres
  bus: Bus
  log: Log
  rights: RightsWatch
  /** The number of processes that share the database. */
  processes: () => number
}

/** Identifies the callers behind keys and session tokens, from memory or else from the database. */
export const createAuthority = (parts: AuthorityParts): SharedAuthority => new CachedAuthority(parts)

class CachedAuthority implements SharedAuthority {
  readonly #parts: AuthorityParts
  readonly #rights: RightsWatch
  readonly #sources = new WeakMap<Principal, Source>()
  readonly #renewals = new Map<string, { changeCount: number; principal: Promise<Principal> }>()
  readonly #entries = new Map<string, Entry>()
  readonly #keysByAccount = new Map<Id, Set<string>>()
  readonly #changes = new EventEmitter().setMaxListeners(0)
  readonly #usedKeys = new Set<Id>()
  readonly #usedSessions = new Set<Id>()
  #changeCount = 0
  readonly #hearing: Disposable
  readonly #timer: NodeJS.Timeout

  constructor(parts: AuthorityParts) {
    this.#parts = parts
    this.#rights = parts.rights
    this.#hearing = parts.rights.hear((accountId) => this.#forget(accountId))
    this.#timer = setInterval(() => void this.#flushUsed(), USED_FLUSH_MS)
  }

  byKey(secret: string, connection?: object): Principal | Promise<Principal> {
    if (!this.#rights.inTouch()) return this.#rights.catchUp().then(() => this.byKey(secret, connection))
    const key = connection === undefined ? hash('sha256', secret, 'base64') : hashOn(connection, secret)
    const entry = this.#entries.get(key)
    if (entry) return this.#admitKnown(entry, key, () => this.#loadKey(hash('sha256', secret, 'buffer'), key))
    if (!isWellFormed(secret)) return refuse('invalid_api_key')
    return this.#loadKey(hash('sha256', secret, 'buffer'), key)
  }

  bySession(token: string): Principal | Promise<Principal> {
    if (!this.#rights.inTouch()) return this.#rights.catchUp().then(() => this.bySession(token))
    const key = `session ${hash('sha256', token, 'base64')}`
    const entry = this.#entries.get(key)
    // Use extends a session's idle end in the database, which memory doesn't see.
    return entry && !hasEnded(entry) ? this.#admit(entry) : this.#loadSession(hashSecret(token), key)
  }

  async refresh(): Promise<void> {
    await this.#rights.poll()
    this.#parts.bus.poke('rights')
  }

  async renew(principal: Principal): Promise<Principal> {
    const source = this.#sources.get(principal)
    if (source === undefined) return principal
    // Reading a change drops the account's entries.
    await this.#rights.poll()
    const entry = this.#entries.get(source.key)
    return entry === undefined ? this.#loadOnce(source) : this.#admit(entry)
  }

  mayLag(): boolean {
    return this.#parts.processes() > 1
  }

  onChange(accountId: Id, recheck: () => void): Disposable {
    return new Listening(this.#changes, accountId, recheck)
  }

  async onBehalf(
    accountId: Id,
    scopes: readonly string[],
    workspaceId: Id | null,
    payingKeyId: Id | null = null,
  ): Promise<Principal | null> {
    const { rows } = await this.#parts.postgres.pool.query<AccountRights & Partial<PayingKeyColumns>>({
      name: 'authority_account',
      text: `select ${RIGHTS}, k.id, k.workspace_id, k.revoked_at, k.spend_cap_nano, k.spend_cap_period,
          k.allowed_models
        from accounts a left join api_keys k on k.id = $2 and k.account_id = a.id where a.id = $1`,
      values: [accountId, payingKeyId],
    })
    const row = rows[0]
    if (!row || row.revoked_at) return null
    const payingKey = payingKeyOf(row)
    return principalOf(row, { kind: 'server', scopes: grants(scopes), workspaceId, ...(payingKey && { payingKey }) })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#flushUsed()
    this.#hearing[Symbol.dispose]()
  }

  #forget(accountId: Id): void {
    this.#changeCount += 1
    for (const key of this.#keysByAccount.get(accountId) ?? []) this.#entries.delete(key)
    this.#keysByAccount.delete(accountId)
    this.#changes.emit(accountId)
  }

  /** A query that started before a change may have read the old rights. Its result serves this call only. */
  #remember(key: string, entry: Entry, countBefore: number): Entry {
    if (this.#changeCount !== countBefore) return entry
    // Cleared when full. Secrets in use return with their next call.
    if (this.#entries.size >= MAX_ENTRIES) {
      this.#entries.clear()
      this.#keysByAccount.clear()
    }
    const accountId = 'principal' in entry ? entry.principal.accountId : entry.accountId
    this.#entries.set(key, entry)
    const keys = this.#keysByAccount.get(accountId) ?? new Set()
    this.#keysByAccount.set(accountId, keys.add(key))
    return entry
  }

  #admit(entry: Entry): Principal {
    if ('refused' in entry) return refuse(entry.refused)
    const { credential } = entry.principal
    if (isPast(credential)) return refuse(credential.kind === 'key' ? 'expired_api_key' : 'session_expired')
    entry.used()
    return entry.principal
  }

  /** Refuses from memory only after it has read the latest changes: another process may have extended the credential. */
  #admitKnown(entry: Entry, key: string, load: () => Promise<Principal>): Principal | Promise<Principal> {
    if ('principal' in entry && !isPast(entry.principal.credential)) return this.#admit(entry)
    return this.#rights.poll().then(() => (this.#entries.get(key) === entry ? this.#admit(entry) : load()))
  }

  /** Renewals of one key share a query, unless a change came after it started. */
  #loadOnce({ key, load }: Source): Promise<Principal> {
    const running = this.#renewals.get(key)
    if (running?.changeCount === this.#changeCount) return running.principal
    const principal = load().finally(() => {
      if (this.#renewals.get(key)?.principal === principal) this.#renewals.delete(key)
    })
    this.#renewals.set(key, { changeCount: this.#changeCount, principal })
    return principal
  }

  async #loadKey(keyHash: Buffer, key: string): Promise<Principal> {
    const countBefore = this.#changeCount
    const { rows } = await this.#parts.postgres.pool.query<AccountRights & KeyColumns>({
      name: 'authority_key',
      text: `select ${RIGHTS}, k.id, k.workspace_id, k.scopes, k.version, k.expires_at, k.revoked_at,
          k.spend_cap_nano, k.spend_cap_period, k.allowed_models, k.key_hash <> $1 as previous, k.previous_expires_at
        from api_keys k join accounts a on a.id = k.account_id where k.key_hash = $1 or k.previous_hash = $1`,
      values: [keyHash],
    })
    const row = rows[0]
    if (!row) return refuse('invalid_api_key')
    const credential = keyCredentialOf(row)
    if (credential === null)
      return this.#admit(this.#remember(key, { refused: 'revoked_api_key', accountId: row.account_id }, countBefore))
    const principal = principalOf(row, credential)
    this.#sources.set(principal, { key, load: () => this.#loadKey(keyHash, key) })
    return this.#admit(this.#remember(key, { principal, used: () => this.#usedKeys.add(row.id) }, countBefore))
  }

  async #loadSession(tokenHash: Buffer, key: string): Promise<Principal> {
    const countBefore = this.#changeCount
    const { rows } = await this.#parts.postgres.pool.query<AccountRights & { id: Id; expires_at: Date }>({
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
    this.#sources.set(principal, { key, load: () => this.#loadSession(tokenHash, key) })
    return this.#admit(this.#remember(key, { principal, used: () => this.#usedSessions.add(row.id) }, countBefore))
  }

  /** Writes last-used times in batches, not once per call. */
  async #flushUsed(): Promise<void> {
    const keys = [...this.#usedKeys]
    const sessions = [...this.#usedSessions]
    this.#usedKeys.clear()
    this.#usedSessions.clear()
    try {
      if (keys.length > 0)
        await this.#parts.postgres.pool.query('update api_keys set last_used_at = now() where id = any($1)', [keys])
      if (sessions.length > 0)
        await this.#parts.postgres.pool.query('update sessions set last_used_at = now() where id = any($1)', [sessions])
    } catch (error) {
      this.#parts.log.warn({ error }, 'the time of last use was not written')
    }
  }
}

const hasEnded = (entry: Entry): boolean => {
  const credential = 'principal' in entry ? entry.principal.credential : null
  return credential?.kind === 'session' && isPast(credential)
}

const isPast = (credential: Credential): boolean =>
  credential.kind !== 'server' && credential.expiresAt !== null && credential.expiresAt.getTime() <= Date.now()

// Hashing costs a call more than its lookups, and a connection sends the same key again and again.
const lastOn = new WeakMap<object, { secret: string; hash: string }>()

/** Hashes a key, and remembers the last hash of an open connection. */
function hashOn(connection: object, secret: string): string {
  const last = lastOn.get(connection)
  if (last?.secret === secret) return last.hash
  const fresh = { secret, hash: hash('sha256', secret, 'base64') }
  lastOn.set(connection, fresh)
  return fresh.hash
}
