import type { MeteredCall } from './ledger.ts'

/** The reason of a refusal of a call that something guards and whose cost has no bound, with what would give it one. */
export const unpricedMessages = {
  tokens: (call: MeteredCall): string =>
    `The model \`${call.model}\` has no known price, so it cannot run under a balance or a cap. ${priceHint(call, 'it one')}`,
  pictures: (call: MeteredCall): string =>
    `Pictures by the model \`${call.model}\` have no known price of their own, so they cannot be made under a balance or a cap. ${priceHint(call, 'them one, `image` in USD per million pictures,')}`,
  /** Sound has no price that bounds how much of it is made. */
  sound: ({ model }: MeteredCall): string =>
    `What sound costs with the model \`${model}\` is known only once it is made, so it cannot run under a balance or a cap. It does on a provider key of your own, with an API key and a workspace that have no cap.`,
}

function priceHint({ provider, billing }: MeteredCall, price: string): string {
  const place = `${price} in \`models[].pricing\` of the endpoint \`${provider}\``
  return billing === 'byok'
    ? `Give ${place}; an administrator can too, with \`PUT /v1/admin/model-overrides\`.`
    : `An administrator gives ${place}, or with \`PUT /v1/admin/model-overrides\`.`
}
