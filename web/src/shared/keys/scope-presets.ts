import { type Scope, grants, scopes } from '../../../../src/core/scopes.ts'

export type Preset = 'everything' | 'gateway' | 'read' | 'own'

export const presets: { id: Preset; title: string; about: string; scopes: readonly string[] }[] = [
  {
    id: 'gateway',
    title: 'Gateway only',
    about: 'Can call and list models. No access to your other data.',
    scopes: ['gateway:run', 'model:read'],
  },
  {
    id: 'read',
    title: 'Read only',
    about: 'Can view everything. Can’t change or run anything.',
    scopes: scopes.filter((scope) => scope.endsWith(':read')),
  },
  { id: 'everything', title: 'Full access', about: 'Everything you can do yourself.', scopes: ['*'] },
  { id: 'own', title: 'Custom', about: 'Only the scopes you select.', scopes: [] },
]

const names: Record<string, string> = {
  user: 'Profile',
  chat: 'Chats',
  agent: 'Agents',
  workspace: 'Workspaces',
  member: 'Members',
  share: 'Sharing',
  drive: 'Files',
  computer: 'Computers',
  automation: 'Automations',
  inference: 'Inference',
  model: 'Models',
  operation: 'Operations',
  search: 'Search',
  web: 'Web',
  notification: 'Notifications',
  realtime: 'Realtime',
  settings: 'Settings',
  usage: 'Usage',
  gateway: 'AI gateway',
}

/** Scopes by subject: `[{subject: 'chat', title: 'Chats', scopes: ['chat:read', …]}]`. */
export const groups = [...Map.groupBy(scopes, (scope) => scope.split(':')[0]!)]
  // Every key has `user:read`, so it isn't a choice.
  .filter(([subject]) => subject !== 'user')
  .map(([subject, all]) => ({ subject, title: names[subject] ?? subject, scopes: all }))

export const verbOf = (scope: Scope): string => scope.split(':')[1]!

const same = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((one) => b.has(one))
const everything = grants(scopes)

/** The preset with these scopes. A key created with `*` lists all scopes individually. */
export function presetOf(given: readonly string[]): Preset {
  const all = grants(given)
  if (given.includes('*') || same(all, everything)) return 'everything'
  return presets.find(({ id, scopes: of }) => id !== 'own' && same(grants(of), all))?.id ?? 'own'
}

/** A summary such as "Gateway only" or "Chats, Files and 3 more". */
export function sayAccess(given: readonly string[]): string {
  const preset = presetOf(given)
  if (preset !== 'own') return presets.find(({ id }) => id === preset)!.title
  const all = grants(given)
  const touched = groups.filter(({ scopes: of }) => of.some((scope) => all.has(scope))).map(({ title }) => title)
  if (touched.length === 0) return 'Profile only'
  const shown = touched.slice(0, 2).join(', ')
  return touched.length > 2 ? `${shown} and ${touched.length - 2} more` : shown
}
