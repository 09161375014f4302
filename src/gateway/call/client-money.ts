import type { Payer } from '#infra/ledger/ledger.ts'
import { guessInput } from '../model/cost/weigh.ts'
import type { CallMoney, HandledAttempt } from './handler.ts'
import { type WorstCase, inputBound, roughInputBound } from './money/metering.ts'
import { type ClientRequest, worstCaseOf } from './money/worst-case.ts'

type PayingRequest = ClientRequest & { readonly payer: Payer }

export class ClientCallMoney implements CallMoney {
  readonly #request: PayingRequest

  constructor(request: PayingRequest) {
    this.#request = request
  }

  /** The sent body determines the cost: a translation may be longer than the client's. */
  inputBound({ translated: translation, offer }: HandledAttempt): number {
    const { body, payer } = this.#request
    return inputBound(translation?.body ?? body.json, payer, offer.contextLength)
  }

  roughInputBound({ translated: translation }: HandledAttempt): number | null {
    const { body, payer } = this.#request
    return translation === null ? roughInputBound(body, payer) : null
  }

  worstCase({ translated: translation, candidate }: HandledAttempt, inputTokens: number): WorstCase {
    return worstCaseOf(this.#request, candidate, translation, inputTokens)
  }

  guessInput(): number {
    return guessInput(this.#request.body.json)
  }
}
