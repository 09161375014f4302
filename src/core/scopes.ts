/** What a key may do (contract, part 4). `write` implies `read` of the same subject. */
export const scopes = [
  'user:read',
  'chat:read',
  'chat:write',
  'chat:run',
  'agent:read',
  'agent:write',
  'workspace:read',
  'workspace:write',
  'member:read',
  'member:write',
  'share:read',
  'share:write',
  'drive:read',
  'drive:write',
  'computer:read',
  'computer:write',
  'computer:exec',
  'automation:read',
  'automation:write',
  'automation:run',
  'inference:run',
  'model:read',
  'operation:read',
  'operation:write',
  'search:read',
  'web:read',
  'notification:read',
  'notification:write',
  'realtime:read',
  'realtime:write',
  'settings:read',
  'settings:write',
  'usage:read',
  'gateway:read',
  'gateway:write',
  'gateway:run',
] as const

export type Scope = (typeof scopes)[number]

/** Expands patterns to scopes, including `user:read` and the reads implied by `write`. */
export function grants(patterns: readonly string[]): ReadonlySet<Scope> {
  const all = new Set<Scope>(['user:read'])
  for (const scope of patterns) {
    if (!isScope(scope)) continue
    all.add(scope)
    const readScope = scope.replace(':write', ':read')
    if (isScope(readScope)) all.add(readScope)
  }
  return all
}

export const isScope = (words: string): words is Scope => (scopes as readonly string[]).includes(words)

export const roles = ['viewer', 'member', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]
export const atLeast = (role: Role, minimum: Role): boolean => roles.indexOf(role) >= roles.indexOf(minimum)

export const roleFor = (scope: Scope): Role => (scope.endsWith(':read') ? 'viewer' : 'member')

/** Computer capabilities. The owner grants some to a workspace; the machine itself allows some or all. */
export const CAPABILITIES = ['exec', 'terminal', 'fs_read', 'fs_write', 'ports', 'inference', 'users'] as const
export type Capability = (typeof CAPABILITIES)[number]
