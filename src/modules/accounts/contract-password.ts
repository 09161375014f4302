import { z } from 'zod'

const SHORT = 'must have at least 8 characters'

/** The length is checked after normalization, so `é` counts once in every encoding. */
export const newPassword = z
  .string()
  .min(8, SHORT)
  .max(256)
  .refine((password) => [...password.normalize('NFKC')].length >= 8, SHORT)
