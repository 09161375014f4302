import type { Offer } from '../model/offer.ts'
import type { ModelRule } from '#core/principal.ts'
import { type Excluded, brokenRule } from './filter.ts'
import type { FaultKind } from '../model/canonical-request.ts'
import type { RoutingConstraints } from './constraints.ts'

/** A provider's fault, in the past tense of a sentence about it. */
export const faultWords: Record<FaultKind, string> = {
  bad_request: 'refused a request',
  context_length: 'refused a request',
  too_large: 'refused a request',
  rate_limited: 'limited the rate',
  overloaded: 'was overloaded',
  server_error: 'failed',
  unreachable: 'could not be reached',
  timeout: 'took too long',
  garbage: 'answered nonsense',
  model_not_found: 'said that it does not have the model',
  withdrawn: 'was disabled or deleted',
  upstream_key: 'did not accept its key',
  upstream_payment: 'could not charge its account',
}
/** Why an offer is left out, so that somebody can do something about it. */
export function excludedWords(reason: Excluded, whole: Offer, constraints: RoutingConstraints): string {
  const { endpoint, ...offer } = whole
  const { slug } = endpoint
  switch (reason) {
    case 'shape':
      return `It speaks ${endpoint.shape}, which a client of this shape is not translated to.`
    case 'only':
      return `\`only\` does not name it. Add \`${slug}\` to allow it.`
    case 'ignore':
      return '`ignore` names it.'
    case 'fallback':
      return '`allow_fallbacks` is false, and another one comes first.'
    case 'capability':
      return `The model lacks ${lacking(offer.capabilities, constraints.needs)}, as far as the catalogue knows.`
    case 'context':
      return `The input of about ${constraints.inputTokens} tokens is longer than its context of ${offer.contextLength}.`
    case 'max_tokens':
      return `\`max_tokens\` is ${constraints.maxTokens}, and it writes ${offer.maxOutputTokens} at most.`
    case 'parameters':
      return `\`require_parameters\` is true, and it does not know all parameters of this request.`
    case 'data_collection':
      return 'Its owner has not stated that it does not train on prompts: set `data_policy.trains` of the endpoint to false if so.'
    case 'zero_retention':
      return 'Its owner has not stated that it keeps no prompts: set `data_policy.keeps` of the endpoint to false if so.'
    case 'quantization':
      return offer.quantization === undefined
        ? 'The precision of its weights is not known: set `models[].quantization` of the endpoint, or allow `unknown`.'
        : `Its weights are ${offer.quantization}, which \`quantizations\` does not name.`
    case 'price':
      return offer.pricing === null
        ? 'Its price is in no source, so it keeps to no `max_price`.'
        : `It costs ${offer.pricing.input} / ${offer.pricing.output} USD per million tokens, above \`max_price\`.`
    case 'unpriced':
      return 'Its price is in no source, and this call is paid from a balance or under a cap.'
    case 'unaffordable':
      return 'Such a call may cost more than balance and caps leave.'
    case 'not_free':
      return 'It is not free.'
    case 'relayed':
      return `Only OpenRouter itself can do \`${constraints.relayed}\`.`
    case 'distillable':
      return 'Whether its output may be trained on is not known.'
    case 'rule':
      return ruleWords(brokenRule(whole, constraints)!, whole)
  }
}

const owners = { key: 'the key', member: 'the member', workspace: 'the workspace' }

/** The rule that keeps an offer from the caller, by whose it is. */
export function ruleWords(rule: ModelRule, { slug }: Pick<Offer, 'slug'>): string {
  switch (rule.kind) {
    case 'allowed':
      return `\`allowed_models\` of ${owners[rule.of]} does not name \`${slug}\`.`
    case 'keys':
      return `${rule.of === 'workspace' ? 'The workspace lets its members' : 'The workspace lets this member'} use models only by keys that are held to it (\`keys\` of ${owners[rule.of]}).`
    case 'apart':
      return 'It belongs to a workspace that has rules or a budget: ask for it by a key that is held to that workspace, or in a chat there.'
  }
}

const lacking = (has: readonly string[], needs: readonly string[] = []): string =>
  needs
    .filter((need) => !has.includes(need))
    .map((need) => `\`${need}\``)
    .join(' and ')
