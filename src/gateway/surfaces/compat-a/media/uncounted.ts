import { refuse } from '#core/errors.ts'
import type { MediaRequest } from '../../../media/adapter.ts'
import { countIn } from '../../../media/request-fields.ts'

/** Such fields may set the amount or unit of the result outside the reservation. */
export function refuseUncounted({ kind, providerOptions }: Pick<MediaRequest, 'kind' | 'providerOptions'>): void {
  const param = kind === 'transcription' && 'file' in providerOptions ? 'file' : countIn(providerOptions, kind)?.name
  if (param !== undefined)
    refuse('invalid_parameter', {
      param,
      message: `\`${param}\` might change the cost of the request and isn’t priced here. Leave it out, or use your own provider key without a spend cap.`,
    })
}
