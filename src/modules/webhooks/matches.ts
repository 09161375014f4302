import type { EventTable, EventType } from '#core/events.ts'

/** Matches patterns such as `run.failed`, `chat.*` and `*`. */
export const matches = (patterns: readonly string[], type: string): boolean =>
  patterns.some(
    (pattern) =>
      pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  )

export const sendableTypes = ({ list }: EventTable): EventType[] =>
  list.filter(({ channels }) => channels.includes('workspace'))

export const firstUnknownPattern = (patterns: readonly string[], table: EventTable): string | null =>
  patterns.find((pattern) => !sendableTypes(table).some(({ type }) => matches([pattern], type))) ?? null
