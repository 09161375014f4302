import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { queryClient } from '../../shared/api.ts'
import { isManaged, workspacesQuery } from '../../shared/session.ts'
import { chooseWorkspace, useWorkspace } from '../../shared/workspace.ts'
import { sayError } from '../../ui/calls/errors.ts'
import { say } from '../../ui/toast/toast.tsx'
import { showList } from '../shortcuts/bound.ts'
import { leave } from '../sign-out.ts'
import { saveTheme } from '../theme.ts'
import type { Command } from './commands.ts'
import { show } from './open.ts'

export function useGo(): (path: string) => () => void {
  const router = useRouter()
  return (path) => () => router.history.push(`/app${path}`)
}

export function useActions(): Command[] {
  const go = useGo()
  return [
    { id: 'new-chat', label: 'New chat', icon: 'plus', keys: 'c', also: 'conversation ask', run: go('/chats') },
    {
      id: 'new-key',
      label: 'Create API key',
      icon: 'key',
      also: 'token secret create developer',
      run: () => show('new-key'),
    },
    {
      id: 'provider',
      label: 'Add provider',
      icon: 'route',
      also: 'model openai anthropic endpoint connect',
      run: go('/ai-routing'),
    },
    {
      id: 'start',
      label: 'Open setup guide',
      icon: 'check',
      also: 'first run welcome start onboarding',
      run: go('/welcome'),
    },
    ...useWorkspaceActions(),
    ...themes,
    {
      id: 'shortcuts',
      label: 'Keyboard shortcuts',
      icon: 'more',
      keys: '?',
      also: 'help keys',
      run: () => showList(true),
    },
    {
      id: 'reload',
      label: 'Reload data',
      icon: 'down',
      also: 'refresh reload',
      run: () => void queryClient.invalidateQueries(),
    },
    {
      id: 'docs',
      label: 'API reference',
      icon: 'book',
      also: 'docs documentation',
      run: () => location.assign('/docs'),
    },
    {
      id: 'out',
      label: 'Sign out',
      icon: 'out',
      also: 'log out leave',
      run: () => void leave().catch((error: unknown) => say(`You are still signed in. ${sayError(error)}`)),
    },
  ]
}

function useWorkspaceActions(): Command[] {
  const go = useGo()
  const here = useWorkspace()
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  return [
    ...workspaces
      .filter((one) => one.kind === 'team' && isManaged(one))
      .map(({ id, name }) => ({
        id: `invite ${id}`,
        label: `Invite member to ${name}`,
        icon: 'people' as const,
        also: 'member team',
        run: go(`/workspaces/${id}`),
      })),
    ...workspaces
      .filter(({ id }) => id !== here?.id)
      .map((one) => ({
        id: `workspace ${one.id}`,
        label: `Switch to ${one.name}`,
        icon: 'people' as const,
        also: 'workspace',
        run: () => {
          chooseWorkspace(one)
          say(`Switched to ${one.name}`)
        },
      })),
  ]
}

const themes: Command[] = [
  { id: 'light', label: 'Light theme', icon: 'sun', also: 'appearance day', run: () => saveTheme('light') },
  { id: 'dark', label: 'Dark theme', icon: 'moon', also: 'appearance night', run: () => saveTheme('dark') },
  { id: 'system', label: 'System theme', icon: 'half', also: 'appearance', run: () => saveTheme('system') },
]
