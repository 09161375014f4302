import { refuse } from '#kernel/errors.ts'
import type { ProviderEndpoint } from '../../model/offer.ts'
import { textOf } from '../../model/json.ts'
import { everyProvider } from '../../providers/every-provider.ts'
import { relays } from '../../providers/supports.ts'

/** Values of fields that cost no more than the model's price says, at any provider. */
const usual: Record<string, string[]> = {}
for (const { plainPrices = {} } of everyProvider)
  for (const name in plainPrices) usual[name] = [...new Set([...(usual[name] ?? []), ...plainPrices[name]!])]

/** With these OpenRouter asks another model, or has something looked up at its own price. */
const relayed = ['models', 'plugins'] as const

/**
 * What is held for a call is reckoned from its model's price. Refuses the fields that make an account which the instance
 * pays for dearer than that: on one's own key they are one's own.
 */
export function guardPrice(
  json: Record<string, unknown>,
  variant: string,
  endpoint: Pick<ProviderEndpoint, 'billing' | 'preset'>,
): void {
  if (endpoint.billing !== 'credits') return
  for (const name in usual) {
    const value = json[name]
    if (value !== undefined && value !== null && !(usual[name] as unknown[]).includes(value))
      refuse('invalid_parameter', {
        param: name,
        message: `\`${name}\` may be ${usual[name]!.map((one) => `\`${one}\``).join(', ')} where the instance pays: others cost more than the price of the model.`,
      })
  }
  if (!relays({ endpoint })) return
  const refuseField = (param: string, words = param): never =>
    refuse('invalid_parameter', {
      param,
      message: `\`${words}\` travels to OpenRouter on one’s own key only: what it costs there is not the price of the model.`,
    })
  for (const name of relayed) if (Array.isArray(json[name]) && json[name].length > 0) refuseField(name)
  if (variant === ':online') refuseField('model', variant)
  if (Array.isArray(json['tools']))
    for (const tool of json['tools'] as unknown[]) {
      const type = textOf((tool as { type?: unknown } | null)?.type)
      if (type.startsWith('openrouter:')) refuseField('tools', type.slice(0, 64))
    }
}
