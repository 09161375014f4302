import { type Scope, isScope } from './scopes.ts'

/** Channel kinds that carry events. `custom` channels carry none. */
export const channelKinds = ['user', 'workspace', 'chat', 'operation'] as const
export type ChannelKind = (typeof channelKinds)[number]

export interface EventType {
  /** Resource kind and past participle: `chat.created`. */
  type: string
  summary: string
  scope: Scope | null
  channels: readonly ChannelKind[]
}

export const eventTypes = (
  scope: Scope | null,
  channels: readonly ChannelKind[],
  summaries: Readonly<Record<string, string>>,
): readonly EventType[] => Object.entries(summaries).map(([type, summary]) => ({ type, summary, scope, channels }))

export interface EventTable {
  list: readonly EventType[]
  has(type: string): boolean
  /** Returns the channels an event goes to, among those named by the emitter. Undeclared types go to all of them. */
  channelsOf(type: string, channels: readonly string[]): string[]
  scopeOf(type: string, resourceType: string | null): Scope | null
}

export function eventTable(list: readonly EventType[]): EventTable {
  const table = new Map<string, EventType>()
  for (const each of list) {
    if (table.has(each.type)) throw new Error(`two areas declare the event ${each.type}`)
    table.set(each.type, each)
  }
  return {
    list,
    has: (type) => table.has(type),
    channelsOf(type, channels) {
      const kinds = table.get(type)?.channels
      const once = [...new Set(channels)]
      if (kinds === undefined) return once
      return once.filter((channel) => (kinds as readonly string[]).includes(channel.slice(0, channel.indexOf(':'))))
    },
    scopeOf(type, resourceType) {
      const eventType = table.get(type)
      if (eventType !== undefined) return eventType.scope
      const scope = `${resourceType}:read`
      return isScope(scope) ? scope : null
    },
  }
}
