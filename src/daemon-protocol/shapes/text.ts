import { z } from 'zod'

/** Text PostgreSQL can store: no U+0000. */
export const plain = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[^\0]*$/)
