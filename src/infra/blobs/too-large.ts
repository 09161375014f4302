import { Refusal } from '#core/errors.ts'

export const tooLarge = (limit: number): Refusal =>
  new Refusal('payload_too_large', {
    message: `A file may hold ${limit} bytes at most.`,
    details: { limit_bytes: limit },
  })
