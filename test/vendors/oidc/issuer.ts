// An identity provider on loopback: discovery (OpenID Connect Discovery 1.0), authorization code flow with PKCE (RFC
// 6749, 7636, 9207), ID tokens (OpenID Connect Core 1.0), keys (RFC 7517), userinfo, RP-initiated logout. Strict, and
// misbehaves on request.
import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Someone {
  sub: string
  email?: string
  /** A boolean in the specification; real providers also send text and numbers. */
  email_verified?: unknown
  name?: string
  /** Claims of a single provider. */
  [claim: string]: unknown
}

/** Misbehavior for the next sign-in. */
export interface Lie {
  /** Claims that replace the correct ones in the ID token. */
  claims?: Record<string, unknown>
  /** `none`: unsigned. `other`: signed by an unpublished key. */
  signed?: 'none' | 'other'
  /** The `iss` of the answer to the browser. */
  iss?: string
  /** The subject of userinfo. */
  subject?: string
}

export interface Issuer extends AsyncDisposable {
  origin: string
  clientId: string
  clientSecret: string
  /** Sets the person in front of the browser. */
  sits(someone: Someone): void
  lies(lie: Lie): void
  /** Sends a browser to an authorization URL. Returns the URL it is redirected to. */
  visit(url: string): Promise<URL>
  /** Codes that were used again. */
  replays: number
  /** Only userinfo has the person's claims. */
  tellsByUserinfo: boolean
  /** A path that answers with a redirect; null: none. */
  redirects: { path: string; status: number; to: string } | null
}

interface Grant {
  redirectUri: string
  nonce: string | null
  challenge: string
  someone: Someone
  lie: Lie
}

interface Answer {
  status: number
  headers?: Record<string, string>
  json?: unknown
}

export async function startIssuer(): Promise<Issuer> {
  const issuer = new FakeIssuer()
  await issuer.listen()
  return issuer
}

class FakeIssuer implements Issuer {
  readonly clientId = 'ukiyo'
  readonly clientSecret = 'a secret: of/the client+'
  replays = 0
  tellsByUserinfo = false
  redirects: Issuer['redirects'] = null
  readonly #own = generateKeyPairSync('rsa', { modulusLength: 2048 })
  /** A pair whose public key isn't published. */
  readonly #other = generateKeyPairSync('rsa', { modulusLength: 2048 })
  readonly #grants = new Map<string, Grant>()
  readonly #tokens = new Map<string, Grant>()
  readonly #usedCodes = new Set<string>()
  readonly #server: Server
  #someone: Someone = { sub: 'nobody' }
  #lie: Lie = {}

  constructor() {
    this.#server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        const url = new URL(request.url!, this.origin)
        const { status, headers = {}, json } = this.#answer(request, url, new URLSearchParams(body))
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(json === undefined ? '' : JSON.stringify(json))
      })
    })
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  sits(who: Someone): void {
    this.#someone = who
  }

  lies(how: Lie): void {
    this.#lie = how
  }

  async visit(url: string): Promise<URL> {
    const { headers, status } = await fetch(url, { redirect: 'manual' })
    const back = headers.get('location')
    if (back === null) throw new Error(`the identity provider answered ${status}`)
    return new URL(back)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #answer({ method, headers }: IncomingMessage, url: URL, form: URLSearchParams): Answer {
    if (this.redirects?.path === url.pathname)
      return { status: this.redirects.status, headers: { location: this.redirects.to } }
    switch (`${method} ${url.pathname}`) {
      case 'GET /.well-known/openid-configuration':
        return {
          status: 200,
          json: {
            issuer: this.origin,
            authorization_endpoint: `${this.origin}/authorize`,
            token_endpoint: `${this.origin}/token`,
            userinfo_endpoint: `${this.origin}/userinfo`,
            jwks_uri: `${this.origin}/keys`,
            end_session_endpoint: `${this.origin}/logout`,
            response_types_supported: ['code'],
            subject_types_supported: ['public'],
            id_token_signing_alg_values_supported: ['RS256', 'none'],
            code_challenge_methods_supported: ['S256'],
            authorization_response_iss_parameter_supported: true,
          },
        }
      case 'GET /keys':
        return {
          status: 200,
          json: { keys: [{ ...this.#own.publicKey.export({ format: 'jwk' }), kid: 'own', alg: 'RS256', use: 'sig' }] },
        }
      case 'GET /authorize':
        return this.#authorize(url.searchParams)
      case 'POST /token':
        return this.#token(headers.authorization, form)
      case 'GET /userinfo': {
        const grant = this.#tokens.get(/^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? '')
        if (!grant) return { status: 401, json: { error: 'invalid_token' } }
        return { status: 200, json: { ...grant.someone, sub: grant.lie.subject ?? grant.someone.sub } }
      }
      // Signs the person out and redirects the browser back.
      case 'GET /logout':
        return { status: 302, headers: { location: url.searchParams.get('post_logout_redirect_uri') ?? this.origin } }
    }
    return { status: 404, json: { error: 'not_found' } }
  }

  /** RFC 6749, 4.1.1 and 4.1.2. The person has already consented. */
  #authorize(params: URLSearchParams): Answer {
    const redirectUri = params.get('redirect_uri')
    if (
      params.get('client_id') !== this.clientId ||
      redirectUri === null ||
      !/^https?:\/\/[^/]+\/app\/signed-in$/.test(redirectUri)
    )
      return { status: 400, json: { error: 'invalid_request' } }
    const back = new URL(redirectUri)
    back.searchParams.set('state', params.get('state') ?? '')
    back.searchParams.set('iss', this.#lie.iss ?? this.origin)
    const challenge = params.get('code_challenge')
    if (
      params.get('response_type') !== 'code' ||
      !params.get('scope')?.split(' ').includes('openid') ||
      !challenge ||
      params.get('code_challenge_method') !== 'S256'
    )
      back.searchParams.set('error', 'invalid_request')
    else {
      const code = randomBytes(16).toString('base64url')
      this.#grants.set(code, {
        redirectUri,
        nonce: params.get('nonce'),
        challenge,
        someone: this.#someone,
        lie: this.#lie,
      })
      this.#lie = {}
      back.searchParams.set('code', code)
    }
    return { status: 302, headers: { location: back.href } }
  }

  /**
   * RFC 6749, 4.1.3: the client by HTTP Basic; each code once, for the same client and redirect URI, with its verifier.
   */
  #token(authorization: string | undefined, form: URLSearchParams): Answer {
    const [id, secret] = Buffer.from(/^Basic (\S+)$/.exec(authorization ?? '')?.[1] ?? '', 'base64')
      .toString()
      .split(':')
      .map((word) => decodeURIComponent(word.replaceAll('+', ' ')))
    if (id !== this.clientId || secret !== this.clientSecret) return { status: 401, json: { error: 'invalid_client' } }
    const code = form.get('code') ?? ''
    const grant = this.#grants.get(code)
    this.#grants.delete(code)
    if (this.#usedCodes.has(code)) this.replays += 1
    this.#usedCodes.add(code)
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (
      !grant ||
      form.get('grant_type') !== 'authorization_code' ||
      form.get('redirect_uri') !== grant.redirectUri ||
      verifier !== grant.challenge
    )
      return { status: 400, json: { error: 'invalid_grant' } }
    const access = randomBytes(16).toString('base64url')
    this.#tokens.set(access, grant)
    return {
      status: 200,
      json: { access_token: access, token_type: 'Bearer', expires_in: 300, id_token: this.#idToken(grant) },
    }
  }

  #idToken({ nonce, someone: who, lie: { claims, signed } }: Grant): string {
    const now = Math.floor(Date.now() / 1000)
    const head = signed === 'none' ? { alg: 'none' } : { alg: 'RS256', kid: 'own' }
    const body = {
      iss: this.origin,
      aud: this.clientId,
      iat: now,
      exp: now + 300,
      nonce,
      ...(this.tellsByUserinfo ? { sub: who.sub } : who),
      ...claims,
    }
    const part = (of: object): string => Buffer.from(JSON.stringify(of)).toString('base64url')
    const words = `${part(head)}.${part(body)}`
    if (signed === 'none') return `${words}.`
    const { privateKey } = signed === 'other' ? this.#other : this.#own
    return `${words}.${createSign('RSA-SHA256').update(words).sign(privateKey).toString('base64url')}`
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const part of request) body += String(part)
  return body
}

/** Settings of a server whose users sign in with this provider; `join`: which of them may join. */
export const settingsFor = (issuer: Issuer, join = 'anyone'): Record<string, string> => ({
  UK_OIDC_ISSUER: issuer.origin,
  UK_OIDC_CLIENT_ID: issuer.clientId,
  UK_OIDC_CLIENT_SECRET: issuer.clientSecret,
  UK_OIDC_JOIN: join,
})
