import { type Scope, isScope } from './scopes.ts'

/** The kinds of channels on which events can be heard; `custom` channels carry none. */
export const channelKinds = ['user', 'workspace', 'chat', 'operation'] as const
export type ChannelKind = (typeof channelKinds)[number]

/** A type of event, as the area that tells of it declares it. */
export interface EventType {
  /** `chat.created`: the resource's kind and a past participle. */
  type: string
  summary: string
  /** The scope that a reader needs besides reading the channel; null: no more than that. */
  scope: Scope | null
  /** The kinds of channels that it goes to, of those that its teller names. */
  channels: readonly ChannelKind[]
}

/** The declarations of an area: what its types need and where they go, then a sentence for each. */
export const eventTypes = (
  scope: Scope | null,
  channels: readonly ChannelKind[],
  summaries: Readonly<Record<string, string>>,
): readonly EventType[] => Object.entries(summaries).map(([type, summary]) => ({ type, summary, scope, channels }))

/** Every event that there is: which channels it goes to and who may hear of it. */
export interface EventTable {
  list: readonly EventType[]
  has(type: string): boolean
  /**
   * The channels that an event goes to, of those that its teller named. A type that nobody declared goes to all of
   * them.
   */
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
