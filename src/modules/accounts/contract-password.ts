import { z } from 'zod'

const SHORT = 'must have at least 8 characters'

/** A new password. Characters are counted after normalization, in which `é` is one however the browser sends it. */
export const newPassword = z
  .string()
  .min(8, SHORT)
  .max(256)
  .refine((password) => [...password.normalize('NFKC')].length >= 8, SHORT)
