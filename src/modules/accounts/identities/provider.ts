import type { Configuration, CustomFetch } from 'openid-client'
import type { Config, OidcConfig } from '#config'
import type { Engine } from '#infra/context.ts'
import { type Meter, fetchThrough } from '#packages/http-client/fetch.ts'
import type { Log } from '#infra/log.ts'
import { refuse } from '#core/errors.ts'
import { type Claims, isUndecided, readClaims } from './claims.ts'

// Loaded on first use, because most instances have no identity provider.
const openid = () => import('openid-client')

export interface Attempt {
  redirectUri: string
  state: string
  nonce: string
  /** PKCE (RFC 7636). */
  verifier: string
}

/** OpenID Connect Core, authorization code flow. */
export interface IdentityProvider {
  begin(attempt: Attempt): Promise<string>
  finish(attempt: Attempt, query: string): Promise<Claims>
  /** The URL to sign out at the provider and return to `backTo`. Null: not supported. */
  signOutUrl(backTo: string): Promise<string | null>
}
export interface HasProvider {
  identityProvider: IdentityProvider | null
}

const WITHIN_MS = 10_000
const MAX: Meter = { remaining: 1 << 20, values: 50_000 }
/** How long each process caches the provider's metadata. After a failure, it's fetched again at once. */
const METADATA_CACHE_MS = 3_600_000

export function createProvider({
  config,
  outside,
  log,
}: Pick<Engine, 'outside' | 'log'> & { config: Pick<Config, 'oidc'> }): IdentityProvider | null {
  const { oidc } = config
  if (oidc === null) return null
  let cache: { at: number; configuration: Promise<Configuration> } | null = null
  const configuration = (): Promise<Configuration> => {
    if (cache !== null && cache.at > Date.now() - METADATA_CACHE_MS) return cache.configuration
    const entry = { at: Date.now(), configuration: discover(oidc, outside) }
    entry.configuration.catch(() => {
      if (cache === entry) cache = null
    })
    cache = entry
    return entry.configuration
  }
  return {
    begin: ({ redirectUri, state, nonce, verifier }) =>
      asking(log, async () => {
        const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await openid()
        return buildAuthorizationUrl(await configuration(), {
          redirect_uri: redirectUri,
          scope: 'openid email profile',
          state,
          nonce,
          code_challenge: await calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        }).href
      }),
    finish: ({ redirectUri, state, nonce, verifier }, query) =>
      asking(log, async () => {
        const { authorizationCodeGrant, fetchUserInfo } = await openid()
        const issuerConfig = await configuration()
        const back = new URL(redirectUri)
        back.search = query
        const tokens = await authorizationCodeGrant(issuerConfig, back, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        })
        const claims = tokens.claims()!
        const userinfo =
          isUndecided(claims) && issuerConfig.serverMetadata().userinfo_endpoint !== undefined
            ? await fetchUserInfo(issuerConfig, tokens.access_token, claims.sub).catch((error: unknown) => {
                // A response for another subject is refused. Without a response, the ID token's address is enough.
                if (claims.email === undefined || isMismatch(error)) throw error
                log.info({ error }, 'the identity provider’s userinfo endpoint does not respond')
                return null
              })
            : null
        return readClaims(claims, userinfo)
      }),
    async signOutUrl(backTo) {
      const { buildEndSessionUrl } = await openid()
      const issuerConfig = await configuration().catch((error: unknown) => {
        log.warn({ error }, 'the identity provider has no sign-out endpoint')
        return null
      })
      if (issuerConfig?.serverMetadata().end_session_endpoint === undefined) return null
      return buildEndSessionUrl(issuerConfig, { post_logout_redirect_uri: backTo }).href
    },
  }
}

async function discover(oidc: OidcConfig, outside: Engine['outside']): Promise<Configuration> {
  const {
    ClientSecretBasic,
    ClientSecretPost,
    allowInsecureRequests,
    customFetch,
    discovery,
    enableNonRepudiationChecks,
  } = await openid()
  const through: CustomFetch = (url, { body, headers, method, signal }) =>
    fetchThrough(
      outside,
      { ...MAX },
      { credential: 'identity provider', party: 'identity provider', withinMs: WITHIN_MS, mayBePrivate: true },
    )(url, {
      method,
      headers,
      body: body as string | URLSearchParams | null,
      ...(signal && { signal }),
    })
  const post = ClientSecretPost(oidc.clientSecret)
  const basic = ClientSecretBasic(oidc.clientSecret)
  return discovery(
    new URL(oidc.issuer),
    oidc.clientId,
    undefined,
    // Providers that don't say must support `client_secret_basic` (Discovery, 3).
    (server, ...rest) =>
      (server.token_endpoint_auth_methods_supported?.includes('client_secret_post') ? post : basic)(server, ...rest),
    {
      [customFetch]: through,
      execute: [enableNonRepudiationChecks, ...(oidc.issuer.startsWith('http:') ? [allowInsecureRequests] : [])],
    },
  )
}

const isMismatch = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'

const AWAY = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
])

/** An unreachable provider is a 502, an invalid response a 401. Details are logged. */
async function asking<T>(log: Log, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { AuthorizationResponseError, ClientError, ResponseBodyError } = await openid()
    log.info({ error }, 'a sign-in with the identity provider failed')
    if (error instanceof AuthorizationResponseError)
      return refuse('invalid_credentials', {
        message: `The identity provider rejected the sign-in${/^[a-z_]{1,40}$/.test(error.error) ? `: ${error.error}` : ''}.`,
      })
    const code = error instanceof ClientError ? (error.code ?? 'OAUTH_ABORT') : null
    if (error instanceof ResponseBodyError || (code !== null && !AWAY.has(code)))
      return refuse('invalid_credentials', {
        message: 'The identity provider’s response couldn’t be verified. Start again. The server log has the details.',
      })
    return refuse('upstream_error', { message: 'The identity provider can’t be reached. Try again later.' })
  }
}
