import type { Id } from './ids.ts'
import type { Budget, Cap } from './money.ts'
import type { Role, Scope } from './scopes.ts'

export type Tier = 'standard' | 'unlimited'

export type ModelRule =
  /** Allows only these models: `openai/gpt-4o`, or `openai/*` for a provider. */
  | { kind: 'allowed'; of: 'key' | 'member' | 'workspace'; models: readonly string[] }
  /** The workspace's models require a key bound to it, and the caller's isn't. */
  | { kind: 'keys'; of: 'member' | 'workspace' }
  /** Other reachable workspaces with budgets or rules that apply only to their own providers. */
  | { kind: 'apart'; workspaces: readonly Id[] }

export interface Membership {
  role: Role
  /** Restricts the role. Null: unrestricted. */
  permissions: ReadonlySet<Scope> | null
  status: 'active' | 'archived'
  budget?: Cap
  /** This member's spend cap in the workspace, counted under the membership's ID. */
  ownBudget?: Cap & { subject: Id }
  rules?: readonly ModelRule[]
  /** Set if models require a key bound to the workspace, with the source of the rule. */
  keysOnly?: 'member' | 'workspace'
}

export type HeldTo = Pick<Membership, 'budget' | 'ownBudget' | 'rules' | 'keysOnly'>

export interface Lender {
  account_id: Id | null
  scopes: readonly string[] | null
  held_to: Id | null
}

export interface PayingKey {
  id: Id
  cap: Cap | null
  /** The only workspace it reaches, or null. */
  workspaceId: Id | null
  allowedModels?: readonly string[]
}

export type Credential =
  | { kind: 'session'; id: Id; expiresAt: Date }
  | {
      kind: 'key'
      id: Id
      scopes: ReadonlySet<Scope>
      /** The only workspace the key reaches. Null: all of its owner's. */
      workspaceId: Id | null
      version: string
      expiresAt: Date | null
      spendCap: Cap | null
      allowedModels?: readonly string[]
    }
  /** The server acting for an account: an agent's run, an automation, a job. */
  | {
      kind: 'server'
      scopes: ReadonlySet<Scope>
      workspaceId: Id | null
      /** The principal works in that workspace but isn't confined to it: account-level resources are available too. */
      ownToo?: true
      payingKey?: PayingKey
      /** The run of the acting agent. Its budgets apply to calls, and new runs become its children. */
      run?: { id: Id; budgets: readonly Budget[] }
      automationId?: Id
      /** Accounts that chose its tools. Their permissions also limit it. */
      lenders?: readonly Lender[]
    }

export interface Principal {
  accountId: Id
  tier: Tier
  administrator: boolean
  personalWorkspaceId: Id
  credential: Credential
  /** The account's memberships, independent of the credential. Effective permissions are the intersection of both. */
  memberships: ReadonlyMap<Id, Membership>
}

/** Checks only the credential's scopes. Sessions have all of them. */
export const hasScope = (principal: Principal, scope: Scope): boolean =>
  principal.credential.kind === 'session' || principal.credential.scopes.has(scope)

/** A credential bound to one workspace and nothing else in its account. */
export const isHeldToOne = ({ credential }: Principal): boolean =>
  credential.kind !== 'session' && credential.workspaceId !== null

/** The caller's membership as limited by this credential, or null. */
export function membershipIn(principal: Principal, workspaceId: Id): Membership | null {
  const { credential } = principal
  if (credential.kind !== 'session' && credential.workspaceId !== null && credential.workspaceId !== workspaceId)
    return null
  return principal.memberships.get(workspaceId) ?? null
}

/** The workspaces this caller can access under a scope. Lists, search, and single reads all use this rule. */
export function reachableWorkspaces(principal: Principal, scope: Scope | null): Id[] {
  const reachable: Id[] = []
  for (const [workspaceId, { permissions }] of principal.memberships) {
    if (!membershipIn(principal, workspaceId)) continue
    if (scope === null || permissions === null || permissions.has(scope)) reachable.push(workspaceId)
  }
  return reachable
}

export const anonymous: Principal = {
  accountId: '',
  tier: 'standard',
  administrator: false,
  personalWorkspaceId: '',
  credential: { kind: 'server', scopes: new Set(), workspaceId: null },
  memberships: new Map(),
}

export interface Behalf {
  account_id: Id
  key_id: Id | null
  scopes: string[] | null
  held_to: Id | null
}

export function behalfOf({ accountId, credential }: Principal): Behalf {
  const session = credential.kind === 'session'
  return {
    account_id: accountId,
    key_id:
      credential.kind === 'key'
        ? credential.id
        : credential.kind === 'server'
          ? (credential.payingKey?.id ?? null)
          : null,
    scopes: session ? null : [...credential.scopes],
    held_to: session ? null : credential.workspaceId,
  }
}

export interface Actor {
  account_id: Id
  via: Credential['kind']
  key_id?: Id
  run_id?: Id
  automation_id?: Id
}

export function actorOf({ accountId, credential }: Pick<Principal, 'accountId' | 'credential'>): Actor {
  const by = { account_id: accountId, via: credential.kind }
  if (credential.kind === 'session') return by
  if (credential.kind === 'key') return { ...by, key_id: credential.id }
  const { payingKey, run, automationId } = credential
  return {
    ...by,
    ...(payingKey && { key_id: payingKey.id }),
    ...(run && { run_id: run.id }),
    ...(automationId !== undefined && { automation_id: automationId }),
  }
}

/** Authenticates secrets. Implemented by the accounts module and used by the pipeline and the gateway. */
export interface TicketHolder {
  /** Returns the holder's current permissions. Throws 401 after they have ended. */
  principal(): Promise<Principal>
  until: Date
}

export interface Authority {
  /**
   * Throws 401, or 503 if this process lost the database for so long that it may have missed a revocation. Synchronous
   * for known keys.
   */
  byKey(secret: string, connection?: object): Principal | Promise<Principal>
  bySession(token: string): Principal | Promise<Principal>
  /**
   * Returns the caller with current permissions from the database, or the same principal if unchanged. Throws if the
   * credential has ended.
   */
  renew(principal: Principal): Promise<Principal>
  onChange(accountId: Id, recheck: () => void): Disposable
  /**
   * A principal for the server acting for an account (run, automation, job) under the cap of the key that started it.
   * Null if the account was deleted or the key revoked.
   */
  onBehalf(
    accountId: Id,
    scopes: readonly string[],
    workspaceId: Id | null,
    payingKeyId?: Id | null,
  ): Promise<Principal | null>
}

/** The caller acting in a workspace its credential isn't bound to. The workspace's resources take precedence. */
export function actingIn(principal: Principal, workspaceId: Id): Principal {
  const { credential, personalWorkspaceId } = principal
  const boundWorkspaceId = credential.kind === 'session' ? null : credential.workspaceId
  if (workspaceId === (boundWorkspaceId ?? personalWorkspaceId)) return principal
  return {
    ...principal,
    credential: {
      kind: 'server',
      scopes: credential.kind === 'session' ? new Set() : credential.scopes,
      workspaceId,
      ownToo: true,
    },
  }
}

export interface RuledOffer {
  slug: string
  provider: string
  workspaceId: Id | undefined
}

export const ruleAgainst = (
  rules: readonly ModelRule[],
  { slug, provider, workspaceId }: RuledOffer,
): ModelRule | undefined =>
  rules.find((rule) => {
    switch (rule.kind) {
      case 'allowed':
        return !rule.models.includes(slug) && !rule.models.includes(`${provider}/*`)
      case 'keys':
        return true
      case 'apart':
        return workspaceId !== undefined && rule.workspaces.includes(workspaceId)
    }
  })

/** Returns the rules for this caller in a workspace. Undefined for nearly all callers, who have none. */
export function rulesFor(
  principal: Principal,
  workspaceId: Id,
  place: HeldTo | undefined = principal.memberships.get(workspaceId),
): readonly ModelRule[] | undefined {
  const { credential, memberships } = principal
  const key = keyOf(credential)
  const rules: ModelRule[] = []
  if (key?.allowedModels) rules.push({ kind: 'allowed', of: 'key', models: key.allowedModels })
  if (place?.rules) rules.push(...place.rules)
  if (place?.keysOnly !== undefined && key?.workspaceId !== workspaceId)
    rules.push({ kind: 'keys', of: place.keysOnly })
  // A credential bound to one workspace reaches no other workspace's providers.
  if (credential.kind === 'session' || credential.workspaceId === null) {
    const apart: Id[] = []
    for (const [id, { rules: theirs, keysOnly, ownBudget, budget }] of memberships)
      if (id !== workspaceId && (theirs ?? keysOnly ?? ownBudget ?? budget) !== undefined) apart.push(id)
    if (apart.length > 0) rules.push({ kind: 'apart', workspaces: apart })
  }
  return rules.length > 0 ? rules : undefined
}

const keyOf = (credential: Credential): { workspaceId: Id | null; allowedModels?: readonly string[] } | undefined =>
  credential.kind === 'key' ? credential : credential.kind === 'server' ? credential.payingKey : undefined
