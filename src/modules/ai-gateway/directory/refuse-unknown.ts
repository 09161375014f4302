import { refuse } from '#core/errors.ts'
import type { AskFailed } from '../lists/ask-provider.ts'
import type { Source } from '../endpoints/sources.ts'

/** A provider's answer is for the eyes of whoever brought it: it may tell of their account. */
export function refuseUnknown({ from, endpoint: { slug } }: Source, { message, status }: AskFailed): never {
  const silent = `The endpoint \`${slug}\` does not say which models it serves.`
  const why = from === 'account' ? `${silent} ${message}` : `${silent} Whoever brought it can test it.`
  const lasts = status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429
  return lasts
    ? refuse('provider_error', {
        message: `${why} Mend its key, or name its models in \`models\`.`,
        headers: { 'x-should-retry': 'false' },
      })
    : refuse('unavailable', { message: why, headers: { 'retry-after': '2' } })
}
