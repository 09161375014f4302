import type { MeteredCall } from './ledger.ts'

/** The reason of a refusal of a call that something guards and whose cost has no bound, with what would give it one. */
export const unpricedMessages = {
  tokens: (call: MeteredCall): string =>
    `The model \`${call.model}\` has no known price, so it can’t be used with a credit balance or a spend cap. ${priceHint(call, 'a price')}`,
  pictures: (call: MeteredCall): string =>
    `The model \`${call.model}\` has no known image price, so it can’t generate images with a credit balance or a spend cap. ${priceHint(call, 'an `image` price in USD per million images')}`,
  /** Sound has no price that bounds how much of it is made. */
  sound: ({ model }: MeteredCall): string =>
    `The cost of audio from the model \`${model}\` is known only afterwards, so it can’t be used with a credit balance or a spend cap. Use your own provider key, with an API key and a workspace that have no cap.`,
}

function priceHint({ provider, billing }: MeteredCall, price: string): string {
  const place = `${price} in \`models[].pricing\` of the endpoint \`${provider}\``
  return billing === 'byok'
    ? `Set ${place}. An administrator can also set it with \`PUT /v1/admin/model-overrides\`.`
    : `Ask an administrator to set ${place}, or to use \`PUT /v1/admin/model-overrides\`.`
}
