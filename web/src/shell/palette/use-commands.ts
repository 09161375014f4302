import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { type ApiKey, everyRow, uk } from '../../shared/api.ts'
import { keysQuery } from '../../shared/keys/keys.ts'
import { type Hit, aboutType, pathOf } from '../../shared/search/hit.ts'
import { quickQuery } from '../../shared/search/queries.ts'
import { useAccount } from '../../shared/session.ts'
import { pagesFor } from '../pages.ts'
import { type Command, type Group, fitting } from './commands.ts'
import { useActions, useGo } from './use-actions.ts'

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
  const { data: keys = [] } = useQuery({ ...keysQuery, enabled: words !== '' })
  const { data: automations = [] } = useQuery({ ...automationsQuery, enabled: words !== '' })
  const { data: recent = [] } = useQuery(recentQuery)
  const { data: hits = [], isFetching } = useQuery(quickQuery(asked))
  const go = useGo()
  const actions = useActions()
  const pages = usePages()
  const typedGroups = (): Group[] => [
    { value: 'Actions', items: fitting(actions, words, 6) },
    { value: 'Pages', items: fitting(pages, words, 6) },
    { value: 'Results', items: hits.map((hit) => commandOfHit(hit, go)) },
    {
      value: 'Keys and automations',
      items: fitting(
        [
          ...keys.filter(isActive).map((key) => commandOfKey(key, go)),
          ...automations.map((one) => commandOfAutomation(one, go)),
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
  const startGroups = (): Group[] => [
    { value: 'Recent', items: recent.map((chat) => commandOfChat(chat, go)) },
    { value: 'Actions', items: actions },
    { value: 'Pages', items: pages },
  ]
  const groups = words === '' ? startGroups() : typedGroups()
  return { groups: groups.filter(({ items }) => items.length > 0), busy: isFetching || asked !== words }
}

type Go = (path: string) => () => void
const isActive = ({ status }: ApiKey): boolean => status === 'active'

const commandOfChat = ({ id, title }: { id: string; title: string }, go: Go): Command => ({
  id: `chat ${id}`,
  label: title,
  about: 'Chat',
  icon: 'chat',
  run: go(`/chats/${id}`),
})
const commandOfHit = (hit: Hit, go: Go): Command => ({
  id: `${hit.type} ${hit.id}`,
  label: hit.title,
  about: aboutType(hit.type).one,
  icon: aboutType(hit.type).icon,
  run: go(pathOf(hit)),
})
const commandOfKey = ({ id, name }: ApiKey, go: Go): Command => ({
  id: `key ${id}`,
  label: name,
  about: 'API key',
  icon: 'key',
  run: go('/settings/developer'),
})
const commandOfAutomation = ({ id, name }: { id: string; name: string }, go: Go): Command => ({
  id: `automation ${id}`,
  label: name,
  about: 'Automation',
  icon: 'clock',
  run: go(`/automations/${id}`),
})

function usePages(): Command[] {
  const router = useRouter()
  const { administrator } = useAccount()
  return pagesFor(administrator).map(({ to, label, icon, keys }) => ({
    id: `page ${to}`,
    label,
    icon,
    keys,
    also: 'page go to',
    run: () => router.history.push(router.buildLocation({ to }).href),
  }))
}
