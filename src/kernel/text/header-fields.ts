import { z } from 'zod'

/** A header that users have sent to servers of their choice; those that the connection itself writes are not theirs. */
export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'must be the name of an HTTP header')
  .refine(
    (name) =>
      !/^(host|connection|content-length|content-type|transfer-encoding|te|trailer|upgrade|expect|keep-alive|accept-encoding|proxy-.*)$/i.test(
        name,
      ),
    'is a header that the connection itself sets',
  )
export const headerValue = z.string().regex(/^[\x20-\x7e]{0,4096}$/, 'must be visible ASCII')
