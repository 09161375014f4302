/** The search parameters of the pages. In a separate file because the router loads it for every page. */

type Search = Record<string, unknown>
const text = <K extends string>(search: Search, ...names: K[]): { [N in K]?: string } =>
  Object.fromEntries(names.flatMap((name) => (typeof search[name] === 'string' ? [[name, search[name]]] : []))) as {
    [N in K]?: string
  }
const oneOf = <T extends string>(value: unknown, words: readonly T[]): T | undefined =>
  words.find((word) => word === value)

export interface ListView {
  workspace?: string
  status?: 'archived'
}
const listViewIn = (search: Search): ListView => ({
  ...text(search, 'workspace'),
  ...(search['status'] === 'archived' && { status: 'archived' }),
})

export const agentsViewIn = listViewIn

const agentTabs = ['try', 'versions', 'uses'] as const
export function agentViewIn({ tab }: Search): { tab?: (typeof agentTabs)[number] } {
  const view = oneOf(tab, agentTabs)
  return view ? { tab: view } : {}
}

export interface AutomationsView extends ListView {
  new?: string
}
export const automationsViewIn = (search: Search): AutomationsView => ({
  ...listViewIn(search),
  ...text(search, 'new'),
})

export const statuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] as const
export interface OperationsView {
  status?: (typeof statuses)[number]
  kind?: string
}
export function operationsViewIn(search: Search): OperationsView {
  const status = oneOf(search['status'], statuses)
  return { ...(status && { status }), ...text(search, 'kind') }
}
