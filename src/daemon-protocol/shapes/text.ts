import { z } from 'zod'

/** Text that a database holds: without U+0000. */
export const plain = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[^\0]*$/)
