import { z } from 'zod'

/** A custom header for requests to user-chosen servers. Headers set by the connection itself are refused. */
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

/** Percent-encodes an extended parameter value such as `filename*` (RFC 8187, 3.2.1). */
export const extendedValue = (text: string): string =>
  `UTF-8''${encodeURIComponent(text).replaceAll(/['()*!]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)}`

/** `Content-Disposition` file name parameters (RFC 6266): plain ASCII, plus UTF-8 if the name needs it. */
export function fileNameFields(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')
  return `filename="${plain}"${plain === name ? '' : `; filename*=${extendedValue(name)}`}`
}
