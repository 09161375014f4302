/**
 * Admission for every interface: authentication, concurrency limit, rate limit, and scope. REST, the agent tool, and
 * the gateways all use it.
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
 * The credential of a request: a key's secret, a session token, the address for open endpoints, a ticket, or nothing.
 * Keys are plain strings to save an allocation per gateway call.
 */
export type PresentedCredential = string | { session: string } | { address: string } | TicketHolder | null

export interface AdmissionParts {
  authority: Pick<Authority, 'byKey' | 'bySession' | 'onChange' | 'renew'>
  limits: Pick<Limits, 'enter' | 'take'>
}

export interface AdmissionRule {
  limit: LimitClass
  scope: Scope | null
}

export interface AdmittedCaller {
  /** Identifies the connection, on which an earlier key is recognized at once. */
  readonly connection: object
  onEnter(flight: Disposable, principal: Principal): void
  onCount(headers: Record<string, string>, principal: Principal): void
}

/**
 * Admits a call and returns its principal, synchronously if the key is known. Throws 401; 429 if too many calls are in
 * flight or arrived within a minute; 403 if the scope is missing; 503 if permissions may be stale.
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

/**
 * The subject of rate and concurrency limits: the key, so keys of an account don't starve each other. Sessions share
 * their account's.
 */
export const countedAs = ({ accountId, credential }: Principal): Id =>
  credential.kind === 'key' ? credential.id : accountId

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

export function checkScope(principal: Principal, scope: Scope | null): void {
  if (scope !== null && !hasScope(principal, scope))
    refuse('missing_scope', {
      message: `The key is missing the scope \`${scope}\`.`,
      details: { required_scope: scope },
    })
}

/** The limit class of an endpoint. Calls to unknown endpoints count as reads. */
export const limitOf = (endpoint: Pick<AnyEndpoint, 'limit' | 'method'> | undefined): LimitClass =>
  endpoint?.limit ?? (endpoint === undefined || endpoint.method === 'GET' ? 'reads' : 'writes')

/** A key, valid or not, takes precedence over the cookie. */
export function readCredential(headers: IncomingHttpHeaders, cookieName: string): PresentedCredential {
  const secret = keyIn(headers)
  if (secret !== null) return secret
  const session = cookieIn(headers.cookie, cookieName)
  return session === null ? null : { session }
}

export const presentedKey = (headers: IncomingHttpHeaders): string =>
  keyIn(headers) ??
  refuse('missing_credentials', { message: 'Send an API key as `Authorization: Bearer uk_…` or `x-api-key`.' })

const refuseForm = (): never =>
  refuse('invalid_api_key', {
    message: 'This header contains no API key. Send the key as `Authorization: Bearer uk_…` or `x-api-key: uk_…`.',
  })

/**
 * Reads `Authorization: Bearer` or `x-api-key`. Null without either, empty for another scheme. Two different keys are a
 * 401.
 */
function keyIn(headers: IncomingHttpHeaders): string | null {
  const bearer = headers.authorization === undefined ? null : /^Bearer +(\S+) *$/i.exec(headers.authorization)
  // Another scheme or garbage also counts as a credential: it must not fall back to the cookie.
  const fromBearer = headers.authorization === undefined ? null : (bearer?.[1] ?? '')
  const header = headers['x-api-key']
  const fromHeader = header === undefined ? null : String(header).trim()
  if (fromBearer !== null && fromHeader !== null && fromBearer !== fromHeader)
    refuse('invalid_api_key', { message: '`Authorization` and `x-api-key` contain two different keys. Send only one.' })
  return fromBearer ?? fromHeader
}

/**
 * Rechecks permissions during a long response: when the account's permissions change and when the credential expires.
 * Only one check runs at a time, so an older result can't overwrite a newer one.
 */
export abstract class RightsWatch implements Disposable {
  readonly #authority: AdmissionParts['authority']
  readonly #shown: PresentedCredential
  readonly #heard: Disposable
  #timer: NodeJS.Timeout | null = null
  #over = false
  #isRequested = false
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
    // Covers changes since admission, while the body arrived or the stream was prepared.
    this.#recheckIfOther(principal, connection)
  }

  protected abstract check(principal: Principal): void | Promise<void>
  protected abstract onLost(why: unknown): void

  async recheck(): Promise<void> {
    this.#isRequested = true
    if (this.#looking) return
    this.#looking = true
    while (this.#isRequested && !this.#over) {
      this.#isRequested = false
      await this.#look()
    }
    this.#looking = false
  }

  async #look(): Promise<void> {
    try {
      const principal = await authenticate(this.#authority, this.#shown)
      // Using a session extends it.
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
      // Access ended: the check throws the reason.
    }
    if (present instanceof Promise)
      void present.then(
        (current) => (current === principal ? undefined : this.recheck()),
        () => this.recheck(),
      )
    // Deferred, because the subclass isn't constructed yet.
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
