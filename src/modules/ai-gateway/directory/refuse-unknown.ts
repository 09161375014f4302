import { refuse } from '#core/errors.ts'
import type { AskFailed } from '../lists/ask-provider.ts'
import type { Source } from '../endpoints/sources.ts'

/** The provider's message is shown only to the endpoint's owner, because it may describe their account. */
export function refuseUnknown({ from, endpoint: { slug } }: Source, { message, status }: AskFailed): never {
  const silent = `The endpoint \`${slug}\` doesn’t list its models.`
  const why = from === 'account' ? `${silent} ${message}` : `${silent} Its owner can test it.`
  const lasts = status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429
  return lasts
    ? refuse('provider_error', {
        message: `${why} Fix its key, or list its models in \`models\`.`,
        headers: { 'x-should-retry': 'false' },
      })
    : refuse('unavailable', { message: why, headers: { 'retry-after': '2' } })
}
