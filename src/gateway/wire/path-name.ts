import { refuse } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'

/**
 * Null if a segment is `.` or `..`. Encoding can't hide those, since `%2e%2e` is also a parent segment (WHATWG URL,
 * "double-dot URL path segment"): the request would reach another path of the provider with the endpoint's key.
 */
export function pathOf(name: string): string | null {
  const segments = name.split('/')
  return segments.some(isDots) ? null : segments.map((segment) => encodeURIComponent(segment.toWellFormed())).join('/')
}

export const segmentOf = (name: string): string | null =>
  isDots(name) ? null : encodeURIComponent(name.toWellFormed())

const isDots = (segment: string): boolean => segment === '.' || segment === '..'

/** Refuses (`invalid_parameter`) names that lead elsewhere. */
export const modelSegment = (model: string): string =>
  segmentOf(model) ?? refuse('invalid_parameter', { param: 'model', message: notAName('model', model) })

export const notAName = (what: string, name: string): string =>
  `\`${shorten(name, 100)}\` isn’t a valid name of a ${what}: \`.\` and \`..\` would lead to other paths.`

/** As a URL parser reads it: with encoded dots, or backslashes for slashes. */
export const leadsUp = (path: string): boolean =>
  path
    .replace(/[?#].*$/s, '')
    .split(/[/\\]/)
    .some((segment) => isDots(segment.replaceAll(/%2e/gi, '.')))
