import { refuse } from '#core/errors.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import { shorten } from '#core/text/shorten.ts'

const LONGEST_TEXT = 1_000
const MOST_SHOWN = 10_000

/**
 * The words of the question to a person: every field of the call, a long text by its beginning and its length. Refuses what
 * is too much to be seen: nobody agrees to what stands behind dots.
 */
export function consentQuestionOf({ name, endpoint }: ListedEndpoint, input: Record<string, unknown>): string {
  const shown = JSON.stringify(input, (_, value: unknown) => (typeof value === 'string' ? shortened(value) : value), 2)
  if (shown.length > MOST_SHOWN)
    refuse('consent_required', {
      message: `A person has to agree before an agent calls \`${name}\`, and this call has more fields than can be shown to one.`,
      details: { endpoint: name },
    })
  return `An agent wants to: ${endpoint.summary} (${name})\n${shown}`
}

const shortened = (text: string): string =>
  text.length > LONGEST_TEXT
    ? `${shorten(text, LONGEST_TEXT).toWellFormed()} … (the beginning of ${text.length} characters)`
    : text
