import { refuse } from '#core/errors.ts'
import { shorten } from '#core/text/shorten.ts'

/**
 * A name that somebody gave (a model's, a voice's, a job's) as segments of a path, each encoded. Null: one of them is `.` or
 * `..`. Those no encoding hides, since `%2e%2e` is a way up too (WHATWG URL, "double-dot URL path segment"): the request
 * would reach another path of the provider with the endpoint's key.
 */
export function pathOf(name: string): string | null {
  const segments = name.split('/')
  return segments.some(isDots) ? null : segments.map((segment) => encodeURIComponent(segment.toWellFormed())).join('/')
}

/** The same of a name that is one segment, whatever is in it. */
export const segmentOf = (name: string): string | null =>
  isDots(name) ? null : encodeURIComponent(name.toWellFormed())

const isDots = (segment: string): boolean => segment === '.' || segment === '..'

/** A model's name as one segment. Refuses (`invalid_parameter`) one that leads elsewhere. */
export const modelSegment = (model: string): string =>
  segmentOf(model) ?? refuse('invalid_parameter', { param: 'model', message: notAName('model', model) })

/** What is said of such a name. */
export const notAName = (what: string, name: string): string =>
  `\`${shorten(name, 100)}\` is not the name of a ${what}: \`.\` and \`..\` lead to other paths of the provider.`

/** Whether a path leads up as a URL reads it, with its dots encoded or not, and backslashes for slashes. */
export const leadsUp = (path: string): boolean =>
  path
    .replace(/[?#].*$/s, '')
    .split(/[/\\]/)
    .some((segment) => isDots(segment.replaceAll(/%2e/gi, '.')))
