import { refuse } from '#core/errors.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import { shorten } from '#core/text/shorten.ts'

const LONGEST_TEXT = 1_000
const MAX_SHOWN = 10_000

/**
 * The approval question: all fields of the call; long text by its start and length. Rejects calls too large to show,
 * since users must see what they approve.
 */
export function consentQuestionOf({ name, endpoint }: ListedEndpoint, input: Record<string, unknown>): string {
  const shown = JSON.stringify(input, (_, value: unknown) => (typeof value === 'string' ? shortened(value) : value), 2)
  if (shown.length > MAX_SHOWN)
    refuse('consent_required', {
      message: `\`${name}\` needs a user's approval, and this call has too many fields to show.`,
      details: { endpoint: name },
    })
  return `An agent wants to: ${endpoint.summary} (${name})\n${shown}`
}

const shortened = (text: string): string =>
  text.length > LONGEST_TEXT
    ? `${shorten(text, LONGEST_TEXT).toWellFormed()} … (truncated, ${text.length} characters in total)`
    : text
