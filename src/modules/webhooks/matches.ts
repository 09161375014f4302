import type { EventTable, EventType } from '#core/events.ts'

/** Whether a type is among `run.failed`, `chat.*` and `*`. */
export const matches = (patterns: readonly string[], type: string): boolean =>
  patterns.some(
    (pattern) =>
      pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  )

/** Types that can be sent: an endpoint gets what its workspace hears. */
export const sendableTypes = ({ list }: EventTable): EventType[] =>
  list.filter(({ channels }) => channels.includes('workspace'))

/** The first pattern that names nothing that can be sent, or null. */
export const firstUnknownPattern = (patterns: readonly string[], table: EventTable): string | null =>
  patterns.find((pattern) => !sendableTypes(table).some(({ type }) => matches([pattern], type))) ?? null
