import type { IconName } from '../ui/icons.tsx'

interface Place {
  to: string
  label: string
  icon: IconName
  /** The shortcut: two letters typed in sequence. */
  keys: `g ${string}`
}

/**
 * The pages of the navigation, in order. Pages listed here also appear in the command palette and the list of
 * shortcuts.
 */
export const pages = [
  { to: '/', label: 'Home', icon: 'home', keys: 'g h' },
  { to: '/chats', label: 'Chats', icon: 'chat', keys: 'g c' },
  { to: '/drive', label: 'Drive', icon: 'folder', keys: 'g d' },
  { to: '/agents', label: 'Agents', icon: 'agent', keys: 'g g' },
  { to: '/automations', label: 'Automations', icon: 'clock', keys: 'g a' },
  { to: '/computers', label: 'Computers', icon: 'computer', keys: 'g m' },
  { to: '/operations', label: 'Operations', icon: 'going', keys: 'g o' },
  { to: '/inbox', label: 'Inbox', icon: 'bell', keys: 'g i' },
  { to: '/ai-routing', label: 'AI routing', icon: 'route', keys: 'g r' },
  { to: '/workspaces', label: 'Workspaces', icon: 'people', keys: 'g w' },
  { to: '/shared-with-me', label: 'Shared with me', icon: 'person', keys: 'g e' },
  { to: '/developer', label: 'Developer tools', icon: 'code', keys: 'g t' },
  { to: '/settings/developer', label: 'Developer settings', icon: 'key', keys: 'g s' },
  { to: '/settings/security', label: 'Security', icon: 'shield', keys: 'g u' },
] as const satisfies Place[]

export const adminPages = [
  { to: '/accounts', label: 'Accounts', icon: 'people', keys: 'g x' },
  { to: '/admin/instance', label: 'Instance', icon: 'shield', keys: 'g z' },
] as const satisfies Place[]

export const atHand: readonly string[] = ['/chats', '/drive', '/inbox']

export const pagesFor = (administrator: boolean): readonly ((typeof pages)[number] | (typeof adminPages)[number])[] =>
  administrator ? [...pages, ...adminPages] : pages
