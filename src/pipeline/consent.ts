import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Entry } from '#core/registry.ts'

/**
 * Requires a person's approval for calls that agents can't make alone. Checked last, so no one is asked about a call
 * that would fail anyway.
 */
export function checkConsent({ agent }: Context, { name, endpoint }: Entry<Context>): void {
  if (endpoint.consent === undefined || agent === null || agent.consented) return
  refuse('consent_required', {
    message: `An agent needs a person’s approval to call \`${name}\`, and no one is available to give it.`,
    details: { endpoint: name },
  })
}
