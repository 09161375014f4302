/**
 * The beginning of every way in: who calls, whether there is room for one more call of theirs, whether their rate allows it,
 * and whether the credential has the scope. REST, the agent tool and the gateways ask here and nowhere else.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { AnyEndpoint, LimitClass } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Authority, type Principal, type TicketHolder, anonymous, hasScope } from '#core/principal.ts'
import type { Scope } from '#core/scopes.ts'
import { cookieIn } from '#core/http/cookies.ts'
import type { Limits } from './limit.ts'

/**
 * The credential of a request: the secret of a key, the token of a session, the address that is all an open
 * endpoint knows anybody by, a ticket, or nothing. A key is not an object: the gateways make none per call.
 */
export type PresentedCredential = string | { session: string } | { address: string } | TicketHolder | null

export interface AdmissionParts {
  authority: Pick<Authority, 'byKey' | 'bySession' | 'onChange' | 'renew'>
  limits: Pick<Limits, 'enter' | 'take'>
}

/** The limit that a call counts under, and the scope that its credential needs; null is none. */
export interface AdmissionRule {
  limit: LimitClass
  scope: Scope | null
}

/** A caller to be admitted, told of each step as it is taken: it gives back what one took where the next refuses. */
export interface AdmittedCaller {
  /** Their connection: on it a key that came before is known at once. */
  readonly connection: object
  /** Room for this call in flight, until it is disposed of. */
  onEnter(flight: Disposable, principal: Principal): void
  /** A token of their rate is taken. `headers` say how many are left. */
  onCount(headers: Record<string, string>, principal: Principal): void
}

/**
 * Admits a call: answers who calls, at once where the authority knows. Refuses with 401, with 429 where too many are in
 * flight or came within a minute, with 403 where the credential lacks the scope, and with 503 where rights may be stale.
 */
export function admit(
  desk: AdmissionParts,
  credential: PresentedCredential,
  rule: AdmissionRule,
  entrant: AdmittedCaller,
): Principal | Promise<Principal> {
  const principal = authenticate(desk.authority, credential, entrant.connection)
  return principal instanceof Promise
    ? principal.then((caller) => take(desk, credential, caller, rule, entrant))
    : take(desk, credential, principal, rule, entrant)
}

function take(
  { authority, limits }: AdmissionParts,
  credential: PresentedCredential,
  principal: Principal,
  { limit, scope }: AdmissionRule,
  entrant: AdmittedCaller,
): Principal | Promise<Principal> {
  const payer = principal === anonymous ? addressOf(credential) : countedAs(principal)
  entrant.onEnter(limits.enter(payer), principal)
  entrant.onCount(limits.take(payer, limit), principal)
  return withScope(authority, principal, scope)
}

/** The caller with this scope, which another process may have given to its key a moment ago. */
export function withScope(
  authority: Pick<Authority, 'renew'>,
  principal: Principal,
  scope: Scope | null,
): Principal | Promise<Principal> {
  if (scope === null || hasScope(principal, scope)) return principal
  return authority.renew(principal).then((current) => {
    checkScope(current, scope)
    return current
  })
}

const addressOf = (credential: PresentedCredential): string =>
  credential !== null && typeof credential === 'object' && 'address' in credential
    ? `address ${credential.address}`
    : ''

/** The subject of rate and room: its key, so that no key of an account starves another; sessions share an account's. */
export const countedAs = ({ accountId, credential }: Principal): Id =>
  credential.kind === 'key' ? credential.id : accountId

/** Refuses with 401, or 503 when rights may be stale. */
export function authenticate(
  authority: AdmissionParts['authority'],
  credential: PresentedCredential,
  connection?: object,
): Principal | Promise<Principal> {
  if (typeof credential === 'string') return credential === '' ? refuseForm() : authority.byKey(credential, connection)
  if (credential === null) return refuse('missing_credentials')
  if ('principal' in credential) return credential.principal()
  return 'session' in credential ? authority.bySession(credential.session) : anonymous
}

/** The scope of an endpoint, from the credential alone. */
export function checkScope(principal: Principal, scope: Scope | null): void {
  if (scope !== null && !hasScope(principal, scope))
    refuse('missing_scope', {
      message: `The key is missing the scope \`${scope}\`.`,
      details: { required_scope: scope },
    })
}

/** The limit that calls of an endpoint count under; a call of one that does not exist was a look. */
export const limitOf = (endpoint: Pick<AnyEndpoint, 'limit' | 'method'> | undefined): LimitClass =>
  endpoint?.limit ?? (endpoint === undefined || endpoint.method === 'GET' ? 'reads' : 'writes')

/** The credential of a request. A key, valid or not, beats the cookie. */
export function readCredential(headers: IncomingHttpHeaders, cookieName: string): PresentedCredential {
  const secret = keyIn(headers)
  if (secret !== null) return secret
  const session = cookieIn(headers.cookie, cookieName)
  return session === null ? null : { session }
}

/** The key of a request where nothing else is heard. */
export const presentedKey = (headers: IncomingHttpHeaders): string =>
  keyIn(headers) ??
  refuse('missing_credentials', { message: 'Send an API key as `Authorization: Bearer uk_…` or `x-api-key`.' })

const refuseForm = (): never =>
  refuse('invalid_api_key', {
    message: 'This header contains no API key. Send the key as `Authorization: Bearer uk_…` or `x-api-key: uk_…`.',
  })

/** `Authorization: Bearer` or `x-api-key`; null without either, empty where something else stands in its place. Two that differ are 401. */
function keyIn(headers: IncomingHttpHeaders): string | null {
  const bearer = headers.authorization === undefined ? null : /^Bearer +(\S+) *$/i.exec(headers.authorization)
  // Another scheme, or garbage, is a credential too: it must not fall through to the cookie.
  const fromBearer = headers.authorization === undefined ? null : (bearer?.[1] ?? '')
  const header = headers['x-api-key']
  const fromHeader = header === undefined ? null : String(header).trim()
  if (fromBearer !== null && fromHeader !== null && fromBearer !== fromHeader)
    refuse('invalid_api_key', { message: '`Authorization` and `x-api-key` contain two different keys. Send only one.' })
  return fromBearer ?? fromHeader
}

/**
 * Rights of a caller whose answer lasts: they are looked at again when one of its account's changes and when its
 * credential ends. One look at a time: of two, the older could have the last word.
 */
export abstract class RightsWatch implements Disposable {
  readonly #authority: AdmissionParts['authority']
  readonly #shown: PresentedCredential
  readonly #heard: Disposable
  #timer: NodeJS.Timeout | null = null
  #over = false
  #asked = false
  #looking = false

  constructor(
    authority: AdmissionParts['authority'],
    credential: PresentedCredential,
    principal: Principal,
    connection: object,
  ) {
    this.#authority = authority
    this.#shown = credential
    this.#heard = authority.onChange(principal.accountId, () => void this.recheck())
    this.#setTimer(principal)
    // Changes since the caller was admitted, while its body came or its stream was prepared, were not heard here.
    this.#recheckIfOther(principal, connection)
  }

  /** Throws the reason for which the caller has lost its right. */
  protected abstract check(principal: Principal): void | Promise<void>
  protected abstract onLost(why: unknown): void

  async recheck(): Promise<void> {
    this.#asked = true
    if (this.#looking) return
    this.#looking = true
    while (this.#asked && !this.#over) {
      this.#asked = false
      await this.#look()
    }
    this.#looking = false
  }

  async #look(): Promise<void> {
    try {
      const principal = await authenticate(this.#authority, this.#shown)
      // A session that was used meanwhile ends later than it would have.
      this.#setTimer(principal)
      await this.check(principal)
    } catch (error) {
      if (!this.#over) this.onLost(error)
    }
  }

  #recheckIfOther(principal: Principal, connection: object): void {
    let present: Principal | Promise<Principal> | null = null
    try {
      present = authenticate(this.#authority, this.#shown, connection)
    } catch {
      // Nobody: the look says why.
    }
    if (present instanceof Promise)
      void present.then(
        (current) => (current === principal ? undefined : this.recheck()),
        () => this.recheck(),
      )
    // Not here and now: whoever extends this is not made yet.
    else if (present !== principal) queueMicrotask(() => void this.recheck())
  }

  #setTimer({ credential }: Principal): void {
    if (this.#timer) clearTimeout(this.#timer)
    const ownCredential = this.#shown
    const ticket =
      typeof ownCredential === 'object' && ownCredential !== null && 'until' in ownCredential
        ? ownCredential.until
        : null
    const expiresAt = credential.kind === 'server' ? ticket : credential.expiresAt
    if (expiresAt === null || this.#over) return
    const remainingMs = Math.min(2 ** 31 - 1, expiresAt.getTime() - Date.now() + 10)
    this.#timer = setTimeout(() => void this.recheck(), remainingMs).unref()
  }

  [Symbol.dispose](): void {
    this.#over = true
    this.#heard[Symbol.dispose]()
    if (this.#timer) clearTimeout(this.#timer)
  }
}
