import { refuse } from '#core/errors.ts'

/**
 * Returns a cookie's value or null. Names are compared as bytes; only spaces and tabs around them are ignored (RFC
 * 6265, 5.4), because browsers treat other blanks as part of the name, which any page can set. Refuses two different
 * values: one comes from a page on another host or port, and there's no way to tell which.
 */
export function cookieIn(header: string | undefined, name: string): string | null {
  if (header === undefined) return null
  let value: string | null = null
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=')
    if (at < 1 || bare(pair.slice(0, at)) !== name) continue
    const own = bare(pair.slice(at + 1))
    if (value !== null && value !== own)
      return refuse('session_expired', {
        message: `Your browser sent two different \`${name}\` cookies, so one comes from another site or port. Delete the cookies for this host, then sign in again.`,
      })
    value = own
  }
  return value
}

const bare = (text: string): string => text.replace(/^[ \t]+|[ \t]+$/g, '')
