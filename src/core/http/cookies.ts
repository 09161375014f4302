import { refuse } from '#core/errors.ts'

/**
 * The value of a cookie; null without it. Names are compared as bytes: only spaces and tabs around them don't count (RFC 6265, 5.4),
 * for a browser takes a name that begins with another blank for another name, and lets any page set it. Refuses two different values:
 * the second one comes from a page of another host or port, and nothing tells which one that is.
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
