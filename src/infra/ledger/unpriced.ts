import type { MeteredCall } from './ledger.ts'

export const unpricedMessages = {
  tokens: (call: MeteredCall): string =>
    `The model \`${call.model}\` has no known price, so it can’t be used with a credit balance or a spend cap. ${priceHint(call, 'a price')}`,
  pictures: (call: MeteredCall): string =>
    `The model \`${call.model}\` has no known image price, so it can’t generate images with a credit balance or a spend cap. ${priceHint(call, 'an `image` price in USD per million images')}`,
  sound: ({ model }: MeteredCall): string =>
    `The cost of audio from the model \`${model}\` is known only afterwards, so it can’t be used with a credit balance or a spend cap. Use your own provider key, with an API key and a workspace that have no cap.`,
}

function priceHint({ provider, billing }: MeteredCall, price: string): string {
  const place = `${price} in \`models[].pricing\` of the endpoint \`${provider}\``
  return billing === 'byok'
    ? `Set ${place}. An administrator can also set it with \`PUT /v1/admin/model-overrides\`.`
    : `Ask an administrator to set ${place}, or to use \`PUT /v1/admin/model-overrides\`.`
}
