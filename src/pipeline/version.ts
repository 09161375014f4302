import { refuse } from '#core/errors.ts'
import { newestVersion } from '#core/contract.ts'

/**
 * A dated contract version. An older one converts requests up to the next version and responses down from it, per
 * endpoint name. Conversions are chained.
 */
export interface Version {
  date: string
  lift?: Record<string, (input: Record<string, unknown>) => Record<string, unknown>>
  lower?: Record<string, (body: unknown) => unknown>
}

/** Newest first. Each entry's `lift` and `lower` convert to and from the entry before it. */
export const versions: readonly Version[] = [{ date: newestVersion }]

export interface Versions {
  newest: string
  check(date: string, param?: string): string
  lift(date: string, name: string, input: Record<string, unknown>): Record<string, unknown>
  lower(date: string, name: string, body: unknown): unknown
}

export function createVersions(list: readonly Version[] = versions): Versions {
  const newest = list[0]!.date
  const older = (date: string): readonly Version[] =>
    list.slice(1, list.findIndex((version) => version.date === date) + 1)
  return {
    newest,
    check(date, param = 'X-Service-Version') {
      if (list.some((version) => version.date === date)) return date
      return refuse('unsupported_version', {
        message: `\`${param}\` must be one of ${list.map((version) => version.date).join(', ')}.`,
        param,
      })
    },
    lift: (date, name, input) =>
      date === newest
        ? input
        : older(date)
            .toReversed()
            .reduce((value, { lift }) => lift?.[name]?.(value) ?? value, input),
    lower: (date, name, body) =>
      date === newest ? body : older(date).reduce((value, { lower }) => lower?.[name]?.(value) ?? value, body),
  }
}
