import type { Id } from './ids.ts'
import type { Budget, Cap } from './money.ts'
import type { Role, Scope } from './scopes.ts'

export type Tier = 'standard' | 'unlimited'

/** A rule about which models somebody may call. Lists of a key, a member and the workspace all hold. */
export type ModelRule =
  /** Only these models: `openai/gpt-4o`, or all of a provider as `openai/*`. */
  | { kind: 'allowed'; of: 'key' | 'member' | 'workspace'; models: readonly string[] }
  /** Models of the workspace only by keys that are held to it, which the caller's is not. */
  | { kind: 'keys'; of: 'member' | 'workspace' }
  /**
   * Other workspaces whose providers the caller reaches and which have a budget or rules of their own: these count for
   * their own providers alone.
   */
  | { kind: 'apart'; workspaces: readonly Id[] }

export interface Membership {
  role: Role
  /** Narrows the role; null is all of it. */
  permissions: ReadonlySet<Scope> | null
  status: 'active' | 'archived'
  /** The most that the workspace may spend on model calls; absent: as much as its members have. */
  budget?: Cap
  /** The most that this member may spend on model calls there, added up under the id of the membership. */
  ownBudget?: Cap & { subject: Id }
  /** The models that the workspace and this member are held to. */
  rules?: readonly ModelRule[]
  /** Models there only by keys that are held to the workspace, and whose rule that is. */
  keysOnly?: 'member' | 'workspace'
}

/** The limits that somebody's model calls in a workspace are held to. */
export type HeldTo = Pick<Membership, 'budget' | 'ownBudget' | 'rules' | 'keysOnly'>

/** An account that lends its rights, with as much of them as the credential had that it acted by. */
export interface Lender {
  /** Null: nobody knows who it was. */
  account_id: Id | null
  /** Null: all of them. */
  scopes: readonly string[] | null
  /** The only workspace that the credential reached. */
  held_to: Id | null
}

/** The key that began what the server does, as its calls count under it and are bound by it. */
export interface PayingKey {
  id: Id
  cap: Cap | null
  /** The only workspace that it reaches. */
  workspaceId: Id | null
  allowedModels?: readonly string[]
}

/** The credential by which the caller proved who it is. */
export type Credential =
  | { kind: 'session'; id: Id; expiresAt: Date }
  | {
      kind: 'key'
      id: Id
      scopes: ReadonlySet<Scope>
      /** The only workspace that the key reaches; null reaches all of its owner's. */
      workspaceId: Id | null
      version: string
      expiresAt: Date | null
      spendCap: Cap | null
      /** The only models that it may call; absent: all. */
      allowedModels?: readonly string[]
    }
  /** The server on an account's behalf: an agent's run, an automation, a job. */
  | {
      kind: 'server'
      scopes: ReadonlySet<Scope>
      /** The only workspace that it reaches, like a key's: what started it was held to that one. */
      workspaceId: Id | null
      /**
       * The principal works in that workspace without being confined to it: the account's own things serve it as well.
       */
      ownToo?: true
      /** The key that started it: what the server does for it counts under that key's cap. */
      payingKey?: PayingKey
      /** The run whose agent it acts for: what that calls counts under the run's budgets, and what it begins stands below it. */
      run?: { id: Id; budgets: readonly Budget[] }
      /** The automation whose action it is, or that began the run above it. */
      automationId?: Id
      /** The accounts that chose the tools it acts by: their rights bind it besides. */
      lenders?: readonly Lender[]
    }

/** The caller. Made once per credential and kept until a right of the account changes. */
export interface Principal {
  accountId: Id
  tier: Tier
  administrator: boolean
  personalWorkspaceId: Id
  credential: Credential
  /** The account's memberships, whatever the credential: the rights of a call are always the intersection of both. */
  memberships: ReadonlyMap<Id, Membership>
}

/** The scopes of the credential alone; a session has them all. */
export const hasScope = (principal: Principal, scope: Scope): boolean =>
  principal.credential.kind === 'session' || principal.credential.scopes.has(scope)

/** A credential that reaches one workspace and nothing else of its account. */
export const isHeldToOne = ({ credential }: Principal): boolean =>
  credential.kind !== 'session' && credential.workspaceId !== null

/** The caller's membership of a workspace as this credential may use it, or null. */
export function membershipIn(principal: Principal, workspaceId: Id): Membership | null {
  const { credential } = principal
  if (credential.kind !== 'session' && credential.workspaceId !== null && credential.workspaceId !== workspaceId)
    return null
  return principal.memberships.get(workspaceId) ?? null
}

/** The workspaces whose things the caller may touch under this scope: the one rule of lists, search and single look-ups. */
export function reachableWorkspaces(principal: Principal, scope: Scope | null): Id[] {
  const reachable: Id[] = []
  for (const [workspaceId, { permissions }] of principal.memberships) {
    if (!membershipIn(principal, workspaceId)) continue
    if (scope === null || permissions === null || permissions.has(scope)) reachable.push(workspaceId)
  }
  return reachable
}

/** The caller of an open endpoint: nobody, who may nothing. */
export const anonymous: Principal = {
  accountId: '',
  tier: 'standard',
  administrator: false,
  personalWorkspaceId: '',
  credential: { kind: 'server', scopes: new Set(), workspaceId: null },
  memberships: new Map(),
}

/** The account on whose behalf something goes on later, as rows keep it, with no more rights than its credential had. */
export interface Behalf {
  account_id: Id
  /** The key that pays. */
  key_id: Id | null
  /** Null: all of the account's. */
  scopes: string[] | null
  /** The only workspace that it reaches; null: all of the account's. */
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

/** The maker of a change, as the outbox and the audit keep it. */
export interface Actor {
  account_id: Id
  via: Credential['kind']
  /** The key that it was done with, or that pays for what the server did. */
  key_id?: Id
  /** The run whose agent did it, or which it happened to. */
  run_id?: Id
  /** The automation that it goes back to. */
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

/** Tells who is behind a secret. The accounts area implements it; the line and the gateway ask it. */
/** Somebody let in by a ticket. */
export interface TicketHolder {
  /** The holder's rights as they are now. Refuses with 401 once they have ended. */
  principal(): Promise<Principal>
  until: Date
}

export interface Authority {
  /**
   * Refuses with 401, and with 503 when this process has been cut off from the database so long that a revocation may
   * have passed it by. Answers at once when it knows the key.
   */
  byKey(secret: string, connection?: object): Principal | Promise<Principal>
  bySession(token: string): Principal | Promise<Principal>
  /**
   * The same caller with the rights that the database has now; the principal itself where they are the same. Refuses when
   * its credential has ended.
   */
  renew(principal: Principal): Promise<Principal>
  /** Calls back when a right of the account changed. */
  onChange(accountId: Id, recheck: () => void): Disposable
  /** The server acting for an account: an agent's run, an automation, a job, under the cap of the key that started it. Null when the account is gone or the key is revoked. */
  onBehalf(
    accountId: Id,
    scopes: readonly string[],
    workspaceId: Id | null,
    payingKeyId?: Id | null,
  ): Promise<Principal | null>
}

/** The caller as they act in a workspace that the credential is not bound to: they use what it has first. */
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

/** The part of a way to serve a model that rules look at. */
export interface RuledOffer {
  /** The platform's id, `provider/id`. */
  slug: string
  /** The provider endpoint's slug. */
  provider: string
  /** The workspace that the endpoint belongs to. */
  workspaceId: Id | undefined
}

/** The first rule that keeps somebody from this, or undefined. */
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

/** The rules that hold for what this caller does in a workspace; undefined: none, as for nearly everybody. */
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
  // Whoever is bound to one workspace reaches no other one's providers.
  if (credential.kind === 'session' || credential.workspaceId === null) {
    const apart: Id[] = []
    for (const [id, { rules: theirs, keysOnly, ownBudget, budget }] of memberships)
      if (id !== workspaceId && (theirs ?? keysOnly ?? ownBudget ?? budget) !== undefined) apart.push(id)
    if (apart.length > 0) rules.push({ kind: 'apart', workspaces: apart })
  }
  return rules.length > 0 ? rules : undefined
}

/** The key that a call is made by, or that began what makes it. */
const keyOf = (credential: Credential): { workspaceId: Id | null; allowedModels?: readonly string[] } | undefined =>
  credential.kind === 'key' ? credential : credential.kind === 'server' ? credential.payingKey : undefined
