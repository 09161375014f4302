import type { Capability, Role, Scope } from './scopes.ts'

/**
 * Who may call an endpoint. One kind per endpoint, so rules can't contradict each other. `permit` enforces it, and the
 * pipeline, `openapi.json`, the CLI, the agent tool, the docs, and the derived tests read it.
 */
export type Access =
  | ({ kind: 'resource'; type: string } & AnyResourceRule)
  | { kind: 'workspace'; scope: Scope; role?: Role }
  | { kind: 'scope'; scope: Scope }
  | { kind: 'account'; scope: Scope }
  | { kind: 'personal'; scope: Scope }
  | { kind: 'session' }
  | { kind: 'sign_in' }
  | { kind: 'secret' }
  | { kind: 'open' }

export type ResourceAccess = Extract<Access, { kind: 'resource' }>
export type WorkspaceAccess = Extract<Access, { kind: 'workspace' }>
type ShareRequirement = 'view' | 'edit' | 'none'

interface ResourceRule {
  /** The scope that keys need, and members of the resource's workspace, unless `resourceScope` is set. */
  scope: Scope
  /** The scope needed in the resource's workspace if it differs: copying reads here and writes elsewhere. */
  resourceScope?: Scope
  /** Overrides the role implied by the scope's verb. */
  role?: Role
  /** Also works on trashed resources. Default for changes: 409 `invalid_state`. */
  inTrash?: true
  /** Also works in archived workspaces, because it only stops activity there. */
  inArchivedWorkspace?: true
}
interface ShareRule {
  /**
   * The share that suffices for callers outside the resource's workspace. Default: `view` for reads without a `role`,
   * otherwise `none`.
   */
  share?: ShareRequirement
}
interface ComputerRule {
  capability?: Capability
}
type AnyResourceRule = ResourceRule & ShareRule & ComputerRule

type RuleFor<Type extends string> = ResourceRule &
  (Type extends 'agent' | 'chat' | 'file' ? ShareRule : {}) &
  (Type extends 'computer' ? ComputerRule : {})

/**
 * Needs a role in the workspace of the resource in the first path parameter, or a share of it. `permit` loads the
 * resource with the finder of its type.
 */
export const resource = <const Type extends string>(type: Type, rule: RuleFor<Type>): Access => ({
  kind: 'resource',
  type,
  ...rule,
})

/** Needs a role in the workspace of the field `workspace_id`. Default: the key's workspace, or the personal one. */
export const inWorkspace = (scope: Scope, role?: Role): Access => ({
  kind: 'workspace',
  scope,
  ...(role !== undefined && { role }),
})

/**
 * Needs only the scope: the endpoint lists what the caller can reach in any workspace, checks a resource that its input
 * names, or returns the same to everyone.
 */
export const byScope = (scope: Scope): Access => ({ kind: 'scope', scope })

/**
 * Changes account-level data. Keys bound to one workspace, and tools chosen by another member, get 403
 * `capability_denied`.
 */
export const account = (scope: Scope): Access => ({ kind: 'account', scope })

/**
 * Reads the caller's personal data under a workspace scope. Unlike with `account`, keys bound to one workspace may call
 * it. Tools chosen by another member get 403 `capability_denied`.
 */
export const personal = (scope: Scope): Access => ({ kind: 'personal', scope })

/** Needs a signed-in person. Keys get 403 `cookie_session_required`. */
export const session = (): Access => ({ kind: 'session' })

/**
 * Needs no credentials and may set the session cookie. Unlike with `open`, the host and cross-site checks apply. Attempts
 * are limited where the password is checked.
 */
export const signIn = (): Access => ({ kind: 'sign_in' })

/** Needs a secret in the request instead of a key or session, such as a pairing token. The service checks it. */
export const secret = (): Access => ({ kind: 'secret' })

/** Needs no credentials. */
export const open = (): Access => ({ kind: 'open' })

/** The credentials an endpoint accepts. With `none`, a key or session that is sent anyway is ignored. */
export function credentialsFor(access: Access): 'key_or_session' | 'session' | 'none' {
  switch (access.kind) {
    case 'resource':
    case 'workspace':
    case 'scope':
    case 'account':
    case 'personal':
      return 'key_or_session'
    case 'session':
      return 'session'
    case 'sign_in':
    case 'secret':
    case 'open':
      return 'none'
  }
}

/** The scope that a key needs, or null if the endpoint takes no keys. */
export const scopeOf = (access: Access): Scope | null => ('scope' in access ? access.scope : null)

/** The type of the resource in the first path parameter, if the endpoint has one. */
export const resourceTypeOf = (access: Access): string | undefined =>
  access.kind === 'resource' ? access.type : undefined

/** The scope needed in the resource's own workspace. */
export const resourceScopeOf = ({ resourceScope, scope }: ResourceAccess): Scope => resourceScope ?? scope

/** The share that callers outside the workspace need. */
export const requiredShare = (access: ResourceAccess): ShareRequirement =>
  access.share ?? (resourceScopeOf(access).endsWith(':read') && access.role === undefined ? 'view' : 'none')
