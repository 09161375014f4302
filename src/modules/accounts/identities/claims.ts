import { shorten } from '#core/text/shorten.ts'

/** What the identity provider says about a person. */
export interface Claims {
  issuer: string
  subject: string
  email: string | null
  /** Whether the provider has verified the address. Null: it doesn't say, as Microsoft Entra ID and AD FS. */
  verified: boolean | null
  name: string | null
}

type Given = Readonly<Record<string, unknown>>

/** Whether the ID token leaves open who verified which address, so that the userinfo endpoint may say more. */
export const isUndecided = ({ email, email_verified }: Given): boolean =>
  email === undefined || email_verified === undefined || email_verified === null

/**
 * Reads the claims of a verified ID token, and of the userinfo endpoint where it was asked. An address and whether it is verified
 * come from one answer: a mark in one never confirms an address in the other. A denial in either counts.
 */
export function readClaims(token: Given & { iss: string; sub: string }, userinfo: Given | null): Claims {
  const source = userinfo !== null && addressOf(userinfo) !== null ? userinfo : token
  const isDenied = [token, userinfo].some((each) => each !== null && isVerified(each) === false)
  return {
    issuer: token.iss,
    subject: token.sub,
    // Providers without an `email` claim name people by something that mostly has the form of an address. Nobody has verified it.
    email: addressOf(source) ?? addressIn(token.upn) ?? addressIn(token.preferred_username),
    verified: isDenied ? false : addressOf(source) === null ? null : isVerified(source),
    name: nameOf(source) ?? nameOf(token),
  }
}

const addressOf = ({ email }: Given): string | null => addressIn(email)

const addressIn = (value: unknown): string | null =>
  typeof value === 'string' && /^[^\s@]+@[^\s@]+$/.test(value) && value.length <= 254 ? value : null

const nameOf = ({ name }: Given): string | null =>
  typeof name === 'string' && name.trim() !== '' ? shorten(name.trim(), 120) : null

/**
 * A boolean (OpenID Connect Core, 5.1). Apple, Amazon Cognito and providers that keep claims as text send it as a string, others
 * 1 and 0. Any other value confirms nothing, so it counts as a denial. `xms_edov` is how Entra ID says that the owner of the
 * domain is verified; it never sends `email_verified`.
 */
function isVerified({ email_verified: value, xms_edov: domainVerified }: Given): boolean | null {
  if (value === undefined || value === null) return isTrue(domainVerified) ? true : null
  return isTrue(value)
}

const isTrue = (value: unknown): boolean =>
  value === true || value === 1 || (typeof value === 'string' && /^\s*(true|1)\s*$/i.test(value))
