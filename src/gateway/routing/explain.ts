import type { Offer } from '../model/offer.ts'
import type { ModelRule } from '#core/principal.ts'
import { type Exclusion, brokenRule } from './filter.ts'
import type { FaultKind } from '../model/canonical-request.ts'
import type { RoutingConstraints } from './constraints.ts'

export const faultWords: Record<FaultKind, string> = {
  bad_request: 'rejected a request',
  context_length: 'rejected a request',
  too_large: 'rejected a request',
  rate_limited: 'rate-limited a request',
  overloaded: 'was overloaded',
  server_error: 'failed',
  unreachable: 'couldn’t be reached',
  timeout: 'took too long to respond',
  garbage: 'returned an invalid response',
  model_not_found: 'reported that it doesn’t have the model',
  withdrawn: 'was disabled or deleted',
  upstream_key: 'rejected its API key',
  upstream_payment: 'reported a billing problem',
}
export function excludedWords(reason: Exclusion, whole: Offer, constraints: RoutingConstraints): string {
  const { endpoint, ...offer } = whole
  const { slug } = endpoint
  switch (reason) {
    case 'shape':
      return `Its API format is ${endpoint.shape}, which this request can’t be translated to.`
    case 'only':
      return `It isn’t listed in \`only\`. Add \`${slug}\` to allow it.`
    case 'ignore':
      return 'It’s listed in `ignore`.'
    case 'fallback':
      return '`allow_fallbacks` is false, and another provider comes first.'
    case 'capability':
      return `The model doesn’t support ${lacking(offer.capabilities, constraints.needs)}, according to the catalogue.`
    case 'context':
      return `The input of about ${constraints.inputTokens} tokens exceeds its context window of ${offer.contextLength} tokens.`
    case 'max_tokens':
      return `\`max_tokens\` is ${constraints.maxTokens}, and its limit is ${offer.maxOutputTokens}.`
    case 'parameters':
      return '`require_parameters` is true, and it doesn’t support all parameters of this request.'
    case 'data_collection':
      return 'It isn’t known whether it trains on prompts. If it doesn’t, its owner can set `data_policy.trains` of the endpoint to false.'
    case 'zero_retention':
      return 'It isn’t known whether it stores prompts. If it doesn’t, its owner can set `data_policy.keeps` of the endpoint to false.'
    case 'quantization':
      return offer.quantization === undefined
        ? 'The quantization of its weights is unknown. Set `models[].quantization` of the endpoint, or allow `unknown`.'
        : `Its weights are ${offer.quantization}, which isn’t listed in \`quantizations\`.`
    case 'price':
      return offer.pricing === null
        ? 'Its price is unknown, so `max_price` can’t be checked.'
        : `It costs ${offer.pricing.input} / ${offer.pricing.output} USD per million tokens, which is above \`max_price\`.`
    case 'unpriced':
      return 'Its price is unknown, and this request uses a credit balance or has a spend cap.'
    case 'unaffordable':
      return 'The request might cost more than the balance or a cap allows.'
    case 'not_free':
      return 'It isn’t free.'
    case 'relayed':
      return `\`${constraints.relayed}\` is supported only by OpenRouter itself.`
    case 'distillable':
      return 'It isn’t known whether its output can be used for training.'
    case 'rule':
      return ruleWords(brokenRule(whole, constraints)!, whole)
  }
}

const owners = { key: 'the key', member: 'the member', workspace: 'the workspace' }

export function ruleWords(rule: ModelRule, { slug }: Pick<Offer, 'slug'>): string {
  switch (rule.kind) {
    case 'allowed':
      return `\`allowed_models\` of ${owners[rule.of]} doesn’t include \`${slug}\`.`
    case 'keys':
      return `${rule.of === 'workspace' ? 'In this workspace, members' : 'In this workspace, this member'} can use models only with keys restricted to it (\`keys\` of ${owners[rule.of]}).`
    case 'apart':
      return 'It belongs to a workspace with rules or a budget. Use a key restricted to that workspace, or a chat in it.'
  }
}

const lacking = (has: readonly string[], needs: readonly string[] = []): string =>
  needs
    .filter((need) => !has.includes(need))
    .map((need) => `\`${need}\``)
    .join(' and ')
