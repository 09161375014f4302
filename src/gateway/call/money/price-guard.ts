import { refuse } from '#core/errors.ts'
import type { FieldReader } from '../../model/body.ts'
import type { ProviderEndpoint } from '../../model/offer.ts'
import { isObject, listOf, textOf } from '../../model/json.ts'
import { providerOf } from '../../providers/every-provider.ts'
import { isAggregator, plainPricesOf, pricedApartBy } from '../../providers/supports.ts'
import { vendorToolIn } from './vendor-tools.ts'
import { shorten } from '#core/text/shorten.ts'

/**
 * A reservation is calculated from the model's price. Refuses fields that raise the price by an unknown factor or fee:
 * balance and caps would count less than the call costs (decision 0077).
 */
export function guardPrice(
  field: FieldReader,
  variant: string,
  endpoint: Pick<ProviderEndpoint, 'billing' | 'preset' | 'shape'>,
): void {
  const { billing } = endpoint
  if (billing === 'free') return
  const [where, alone] =
    billing === 'credits'
      ? ['when the instance pays', 'only with your own provider key']
      : ['under a spend cap', 'only with an API key and a workspace that have no cap']
  for (const [name, words] of plainPricesOf(endpoint)) {
    const value = field(name)
    if (value === undefined || value === null || (words as readonly unknown[]).includes(value)) continue
    const may = words.length === 0 ? 'not be set' : `be ${words.map((one) => `\`${one}\``).join(', ')}`
    refuse('invalid_parameter', {
      param: name,
      message: `\`${name}\` can ${may} ${where}, because other values cost more than the model’s price.`,
    })
  }
  const refuseField = (param: string, vendor: string, words = param): never =>
    refuse('invalid_parameter', {
      param,
      message: `\`${words}\` can be sent to ${vendor} ${alone}, because its cost isn’t included in the model’s price.`,
    })
  for (const [name, vendor] of pricedApartBy(endpoint)) if (isSaid(field(name))) refuseField(name, vendor)
  if (isAggregator({ endpoint })) {
    const { name: relay } = providerOf(endpoint.preset)!
    if (variant === ':online') refuseField('model', relay, variant)
    for (const tool of listOf(field('tools'))) {
      const type = isObject(tool) ? textOf(tool['type']) : ''
      if (type.startsWith('openrouter:')) refuseField('tools', relay, shorten(type, 64))
    }
  }
  // On the caller's own key, such a fee is between the owner and the vendor.
  const tool = billing === 'credits' ? vendorToolIn(field) : null
  if (tool !== null)
    refuse('unpriced_model', {
      param: tool.field,
      message: `\`${tool.name}\` is run by the provider for a fee that isn’t known here. Use it with your own provider key.`,
    })
}

const isSaid = (value: unknown): boolean =>
  value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
