import { type KeyObject, createPrivateKey } from 'node:crypto'
import type { Outbound } from '#packages/http-client/outbound.ts'
import type { Send } from '#packages/http-client/send.ts'
import { RetrieveFailed, retrieve } from '#packages/http-client/retrieve.ts'
import type { Id } from '#core/ids.ts'
import { credentialOf } from './credential.ts'
import type { ProviderEndpoint } from '../../model/offer.ts'
import { isObject, parseJson, textOf } from '../../model/json.ts'
import { readFault } from '../../wire/faults/faults.ts'
import { anthropicBody, droppedFields } from './claude-body.ts'
import { allowedBetas, withoutAnthropic } from './bedrock.ts'
import { type Transport, TransportFailed, modelInPath, headerIn, forwardingHandler } from './transport.ts'

const VERSION = 'vertex-2023-10-16'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const EARLY_MS = 120_000
const MAX_TOKEN = 65_536
/** Limit of cached tokens (least recently used first out). */
const MAX_KEPT = 10_000

/**
 * Gemini (shape `gemini`) and Claude (shape `anthropic-messages`) under one project and location. The key is the JSON
 * of a service account's key file, plain or in base64, for which access tokens are fetched and cached; or an access
 * token itself.
 */
export function vertexTransport(endpoint: ProviderEndpoint, base: string): Transport {
  const { apiKey, headers, shape } = endpoint
  const settings = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const betas = allowedBetas(settings.get('x-uk-betas'))
  const tokens = apiKey === null ? null : keptTokens(endpoint, apiKey)
  const claude = shape === 'anthropic-messages'
  return {
    async wrap(send, { model, stream }, outbound) {
      const plain = claude
        ? rawPredict(send, base, model, stream, betas)
        : shape === 'gemini'
          ? inPublisher(send, base)
          : send
      const token = tokens === null ? null : await tokens.get(outbound)
      return token === null ? plain : { ...plain, headers: [...plain.headers, 'authorization', `Bearer ${token}`] }
    },
    unwrap: (handler) => ({
      ...forwardingHandler(handler),
      onResponseStart(controller, status, responseHeaders, message) {
        if (status === 401) tokens?.forget()
        handler.onResponseStart?.(controller, status, responseHeaders, message)
      },
    }),
    ...(claude && {
      losses: (json, clientHeaders) => {
        const { fields, beta } = droppedFields(json, clientHeaders['anthropic-beta'], betas)
        return beta ? [...fields, 'anthropic-beta'] : fields
      },
    }),
  }
}

const inPublisher = (send: Send, base: string): Send => ({
  ...send,
  path: `${base}/publishers/google${send.path.slice(base.length)}`,
})

function rawPredict(send: Send, base: string, model: string, stream: boolean, betas: ReadonlySet<string>): Send {
  const verb = stream ? 'streamRawPredict' : 'rawPredict'
  return {
    ...send,
    path: `${base}/publishers/anthropic/models/${modelInPath(model)}:${verb}`,
    headers: withoutAnthropic(send.headers),
    body: anthropicBody(String(send.body), VERSION, headerIn(send.headers, 'anthropic-beta'), betas, true),
  }
}

interface Tokens {
  get(outbound: Outbound): Promise<string>
  forget(): void
}

interface Account {
  email: string
  key: string
  keyId: string
  tokenUri: URL
}

const byEndpoint = new Map<Id, { apiKey: string; mayBePrivate: boolean; tokens: Tokens }>()

/** An endpoint is reloaded when any endpoint of its owner changes; its token is kept as long as its key is the same. */
function keptTokens(endpoint: ProviderEndpoint, apiKey: string): Tokens {
  const { id, mayBePrivate } = endpoint
  const before = byEndpoint.get(id)
  byEndpoint.delete(id)
  const same = before !== undefined && before.apiKey === apiKey && before.mayBePrivate === mayBePrivate
  const entry = same ? before : { apiKey, mayBePrivate, tokens: tokensOf(apiKey, mayBePrivate, credentialOf(endpoint)) }
  byEndpoint.set(id, entry)
  const [oldest] = byEndpoint.keys()
  if (byEndpoint.size > MAX_KEPT && oldest !== undefined) byEndpoint.delete(oldest)
  return entry.tokens
}

function tokensOf(apiKey: string, mayBePrivate: boolean, credential: string): Tokens {
  const account = accountIn(apiKey)
  if (account === null) return { get: () => Promise.resolve(apiKey), forget() {} }
  let cached: { token: string; until: number } | null = null
  let asking: Promise<string> | null = null
  return {
    get(outbound) {
      if (cached !== null && Date.now() < cached.until) return Promise.resolve(cached.token)
      asking ??= askToken(account, outbound, mayBePrivate, credential)
        .then(({ token, seconds }) => {
          cached = { token, until: Date.now() + seconds * 1000 - EARLY_MS }
          return token
        })
        .finally(() => (asking = null))
      return asking
    },
    forget() {
      cached = null
    },
  }
}

/** Null: not a key file. */
function accountIn(apiKey: string): Account | null {
  const words = apiKey.trim()
  const json = parseJson(words.startsWith('{') ? words : Buffer.from(words, 'base64').toString())
  if (!isObject(json) || json['type'] !== 'service_account') return null
  const tokenUri = URL.parse(textOf(json['token_uri']) || 'https://oauth2.googleapis.com/token')
  if (tokenUri === null) return null
  return {
    email: textOf(json['client_email']),
    key: textOf(json['private_key']),
    keyId: textOf(json['private_key_id']),
    tokenUri,
  }
}

async function askToken(
  { email, key, keyId, tokenUri }: Account,
  outbound: Outbound,
  mayBePrivate: boolean,
  credential: string,
): Promise<{ token: string; seconds: number }> {
  const { SignJWT } = await import('jose')
  const fail = (message: string): never => {
    throw new TransportFailed({ kind: 'upstream_key', message })
  }
  let signingKey: KeyObject
  try {
    signingKey = createPrivateKey(key)
  } catch {
    return fail('The key of this endpoint isn’t a Google service account key file.')
  }
  const assertion = await new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: keyId })
    .setIssuer(email)
    .setAudience(tokenUri.href)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(signingKey)
  const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
  try {
    const { status, headers, bytes } = await retrieve(outbound, {
      url: tokenUri,
      method: 'POST',
      headers: ['content-type', 'application/x-www-form-urlencoded'],
      body: Buffer.from(form.toString()),
      mayBePrivate,
      mostBytes: MAX_TOKEN,
      timeoutMs: 10_000,
      hops: 0,
      credential,
      // A token serves all calls of its endpoint, by any caller.
      party: 'access token',
    })
    const json = parseJson(bytes.toString())
    const token = isObject(json) ? textOf(json['access_token']) : ''
    if (status === 200 && token !== '')
      return { token, seconds: isObject(json) ? Number(json['expires_in']) || 3600 : 3600 }
    if (status >= 500) throw new TransportFailed(readFault(status, headers, ''))
    return fail('Google returned no access token for the key of this endpoint.')
  } catch (error) {
    if (!(error instanceof RetrieveFailed)) throw error
    throw new TransportFailed({ kind: 'unreachable', message: 'Google’s token service can’t be reached.' })
  }
}
