import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { everyRow, queryClient, uk } from '../../shared/api.ts'
import { sayError } from '../../ui/calls/errors.ts'
import { keysQuery } from '../../shared/keys/keys.ts'
import { aboutType, pathOf } from '../../shared/search/hit.ts'
import { quickQuery } from '../../shared/search/queries.ts'
import { isManaged, useAccount, workspacesQuery } from '../../shared/session.ts'
import { say } from '../../ui/dialogs/toast.tsx'
import { chooseWorkspace, useWorkspace } from '../../shared/workspace.ts'
import { pagesFor } from '../pages.ts'
import { showList } from '../shortcuts/bound.ts'
import { leave } from '../sign-out.ts'
import { saveTheme } from '../theme.ts'
import { type Command, type Group, fitting } from './commands.ts'
import { show } from './open.ts'

const automationsQuery = {
  queryKey: ['automations', 'names'],
  queryFn: () => everyRow(uk.automations.list({ limit: 100 }), 200),
  staleTime: 60_000,
}
const recentQuery = {
  queryKey: ['chats', 'recent'],
  queryFn: async () => (await uk.chats.list({ limit: 6 })).rows,
  staleTime: 10_000,
}

/** Returns the commands for the typed words, in groups. `busy` while the server search is running. */
export function useCommands(words: string, asked: string): { groups: Group[]; busy: boolean } {
  const router = useRouter()
  const { administrator } = useAccount()
  const here = useWorkspace()
  const { data: workspaces = [] } = useQuery(workspacesQuery)
  const { data: keys = [] } = useQuery({ ...keysQuery, enabled: words !== '' })
  const { data: automations = [] } = useQuery({ ...automationsQuery, enabled: words !== '' })
  const { data: recent = [] } = useQuery(recentQuery)
  const { data: hits = [], isFetching } = useQuery(quickQuery(asked))
  const go = (path: string) => () => router.history.push(`/app${path}`)

  const actions: Command[] = [
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
    { id: 'light', label: 'Light theme', icon: 'sun', also: 'appearance day', run: () => saveTheme('light') },
    { id: 'dark', label: 'Dark theme', icon: 'moon', also: 'appearance night', run: () => saveTheme('dark') },
    { id: 'system', label: 'System theme', icon: 'half', also: 'appearance', run: () => saveTheme('system') },
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
  const pages: Command[] = pagesFor(administrator).map(({ to, label, icon, keys: letters }) => ({
    id: `page ${to}`,
    label,
    icon,
    keys: letters,
    also: 'page go to',
    run: () => router.history.push(router.buildLocation({ to }).href),
  }))
  const groups: Group[] =
    words === ''
      ? [
          {
            value: 'Recent',
            items: recent.map(({ id, title }) => ({
              id: `chat ${id}`,
              label: title,
              about: 'Chat',
              icon: 'chat',
              run: go(`/chats/${id}`),
            })),
          },
          { value: 'Actions', items: actions },
          { value: 'Pages', items: pages },
        ]
      : [
          { value: 'Actions', items: fitting(actions, words, 6) },
          { value: 'Pages', items: fitting(pages, words, 6) },
          {
            value: 'Results',
            items: hits.map((hit) => ({
              id: `${hit.type} ${hit.id}`,
              label: hit.title,
              about: aboutType(hit.type).one,
              icon: aboutType(hit.type).icon,
              run: go(pathOf(hit)),
            })),
          },
          {
            value: 'Keys and automations',
            items: fitting(
              [
                ...keys
                  .filter(({ status }) => status === 'active')
                  .map(({ id, name }) => ({
                    id: `key ${id}`,
                    label: name,
                    about: 'API key',
                    icon: 'key' as const,
                    run: go('/settings/developer'),
                  })),
                ...automations.map(({ id, name }) => ({
                  id: `automation ${id}`,
                  label: name,
                  about: 'Automation',
                  icon: 'clock' as const,
                  run: go(`/automations/${id}`),
                })),
              ],
              words,
              6,
            ),
          },
          {
            value: 'Search',
            items: [
              {
                id: 'search',
                label: `Search everywhere for “${words}”`,
                icon: 'search',
                run: go(`/search?q=${encodeURIComponent(JSON.stringify(words))}`),
              },
            ],
          },
        ]
  return { groups: groups.filter(({ items }) => items.length > 0), busy: isFetching || asked !== words }
}
