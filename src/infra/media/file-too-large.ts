import { Refusal } from '#core/errors.ts'

export const fileTooLarge = (mostMebibytes: number): Refusal =>
  new Refusal('payload_too_large', { message: `The file is larger than ${mostMebibytes} MiB.` })
