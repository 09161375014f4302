import { Refusal } from '#core/errors.ts'

export const tooLarge = (limit: number): Refusal =>
  new Refusal('payload_too_large', {
    message: `A file can have up to ${limit} bytes.`,
    details: { limit_bytes: limit },
  })
