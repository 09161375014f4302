import type { IncomingHttpHeaders } from 'node:http'
import { refuse } from '#kernel/errors.ts'
import type { Authority, Principal } from '#kernel/principal.ts'

export type Presented = { kind: 'key'; secret: string } | { kind: 'session'; token: string } | { kind: 'nothing' }

/** The key of a request: `Authorization: Bearer` or `x-api-key`; null without one; two that differ, and what holds none, are 401. */
export function presentedKey(headers: IncomingHttpHeaders): string | null {
  const key = keyIn(headers)
  return key === '' ? refuseForm() : key
}

const refuseForm = (): never =>
  refuse('invalid_api_key', {
    message: 'There is no API key in this header: send it as `Authorization: Bearer uk_…` or `x-api-key: uk_…`.',
  })

/** Empty: something else stands in its place. */
function keyIn(headers: IncomingHttpHeaders): string | null {
  const bearer = headers.authorization === undefined ? null : /^Bearer +(\S+) *$/i.exec(headers.authorization)
  // Another scheme, or garbage, is a credential too: it must not fall through to the cookie.
  const fromBearer = headers.authorization === undefined ? null : (bearer?.[1] ?? '')
  const header = headers['x-api-key']
  const fromHeader = header === undefined ? null : String(header).trim()
  if (fromBearer !== null && fromHeader !== null && fromBearer !== fromHeader)
    refuse('invalid_api_key', { message: '`Authorization` and `x-api-key` carry two different keys. Send one.' })
  return fromBearer ?? fromHeader
}

/** The credential of a request. A key, valid or not, beats the cookie. */
export function presented(headers: IncomingHttpHeaders, cookieName: string): Presented {
  const secret = keyIn(headers)
  if (secret !== null) return { kind: 'key', secret }
  const token = cookie(headers.cookie, cookieName)
  return token === null ? { kind: 'nothing' } : { kind: 'session', token }
}

function cookie(header: string | undefined, name: string): string | null {
  if (header === undefined) return null
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim()
  }
  return null
}

/** Refuses with 401, or 503 when rights may be stale. */
export function authenticate(authority: Authority, credential: Presented): Principal | Promise<Principal> {
  switch (credential.kind) {
    case 'key':
      return credential.secret === '' ? refuseForm() : authority.byKey(credential.secret)
    case 'session':
      return authority.bySession(credential.token)
    case 'nothing':
      return refuse('missing_credentials')
  }
}
