import type { EventTable } from '#kernel/events.ts'

/** Whether a type is among `run.failed`, `chat.*` and `*`. */
export const matches = (patterns: readonly string[], type: string): boolean =>
  patterns.some(
    (pattern) =>
      pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  )

/** The first pattern that names nothing, or null. */
export const strange = (patterns: readonly string[], { list }: EventTable): string | null =>
  patterns.find((pattern) => !list.some(({ type }) => matches([pattern], type))) ?? null
