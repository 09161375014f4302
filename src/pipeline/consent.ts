import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Entry } from '#core/registry.ts'

/**
 * An agent's call of what its contract leaves to people: it passes once a person has agreed to it. Asked last, so that
 * nobody is asked about what would be refused all the same.
 */
export function checkConsent({ agent }: Context, { name, endpoint }: Entry<Context>): void {
  if (endpoint.consent === undefined || agent === null || agent.consented) return
  refuse('consent_required', {
    message: `An agent needs a person’s approval to call \`${name}\`, and no one is available to give it.`,
    details: { endpoint: name },
  })
}
