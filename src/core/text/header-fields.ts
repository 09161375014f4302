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
    'must not be a header set by the connection itself',
  )
export const headerValue = z.string().regex(/^[\x20-\x7e]{0,4096}$/, 'must be visible ASCII')

/** The value of a parameter such as `filename*`, in percent-encoded UTF-8: only the characters of RFC 8187, 3.2.1 stay as they are. */
export const extendedValue = (text: string): string =>
  `UTF-8''${encodeURIComponent(text).replaceAll(/['()*!]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)}`

/**
 * The parameters that name a file in `Content-Disposition` (RFC 6266): plain ASCII for old readers, and the name itself where that
 * isn't all of it.
 */
export function fileNameFields(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  return `filename="${plain}"${plain === name ? '' : `; filename*=${extendedValue(name)}`}`
}
