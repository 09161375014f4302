import { Refusal } from '#core/errors.ts'

/** The sender left. Not a server fault, and no one receives the response. */
export class SenderGone extends Refusal {
  constructor() {
    super('invalid_parameter', { message: 'The request body ended early.' })
  }
}
