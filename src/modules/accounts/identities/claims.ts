import { shorten } from '#core/text/shorten.ts'

export interface Claims {
  issuer: string
  subject: string
  email: string | null
  /** Null: the provider doesn't say, like Microsoft Entra ID and AD FS. */
  verified: boolean | null
  name: string | null
}

type RawClaims = Readonly<Record<string, unknown>>

/** Whether the ID token lacks the address or its verification, so the userinfo endpoint may add them. */
export const isUndecided = ({ email, email_verified }: RawClaims): boolean =>
  email === undefined || email_verified === undefined || email_verified === null

/**
 * Reads the claims of a verified ID token and of userinfo. The address and its verification come from the same
 * response: one never confirms the other's address. A denial in either counts.
 */
export function readClaims(token: RawClaims & { iss: string; sub: string }, userinfo: RawClaims | null): Claims {
  const source = userinfo !== null && addressOf(userinfo) !== null ? userinfo : token
  const isDenied = [token, userinfo].some((each) => each !== null && isVerified(each) === false)
  return {
    issuer: token.iss,
    subject: token.sub,
    // Providers without an `email` claim often use an address as the user name. It's unverified.
    email: addressOf(source) ?? addressIn(token.upn) ?? addressIn(token.preferred_username),
    verified: isDenied ? false : addressOf(source) === null ? null : isVerified(source),
    name: nameOf(source) ?? nameOf(token),
  }
}

const addressOf = ({ email }: RawClaims): string | null => addressIn(email)

const addressIn = (value: unknown): string | null =>
  typeof value === 'string' && /^[^\s@]+@[^\s@]+$/.test(value) && value.length <= 254 ? value : null

const nameOf = ({ name }: RawClaims): string | null =>
  typeof name === 'string' && name.trim() !== '' ? shorten(name.trim(), 120) : null

/**
 * A boolean (OpenID Connect Core, 5.1). Apple, Amazon Cognito and others send a string, some 1 and 0. Any other value
 * is a denial. Entra ID never sends `email_verified`. Its `xms_edov` says that the domain owner is verified.
 */
function isVerified({ email_verified: value, xms_edov: domainVerified }: RawClaims): boolean | null {
  if (value === undefined || value === null) return isTrue(domainVerified) ? true : null
  return isTrue(value)
}

const isTrue = (value: unknown): boolean =>
  value === true || value === 1 || (typeof value === 'string' && /^\s*(true|1)\s*$/i.test(value))
