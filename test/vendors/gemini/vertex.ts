// Vertex AI on loopback: Google's OAuth token endpoint for service accounts, then Gemini under a project and a
// location.
//
// The token endpoint checks the assertion as Google does: RS256 by the account's key, issuer, audience, scope, up to
// one hour.
//
// Sources: developers.google.com/identity/protocols/oauth2/service-account; cloud.google.com/vertex-ai docs of
// generateContent and of Claude (rawPredict, streamRawPredict, `anthropic_version: vertex-2023-10-16`).
//
// Unknown, so not played or only guessed: the exact words of 401 and 403 and their ErrorInfo details; whether a host
// must match the location; Claude's error envelope on Vertex (Anthropic's here); the fields that Vertex accepts beyond
// Gemini's (labels and others: rejected); quota metadata of a 429; other token flows (workload identity, metadata
// server).
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { Anthropic, type AnthropicModel } from '../anthropic/anthropic.ts'
import {
  generate,
  geminiModels,
  googleRefusals,
  problem,
  readGenerate,
  messageFor,
  type GeminiModel,
} from './content.ts'
import type { Answer, Whole } from '../delivery/deliver.ts'
import { id, parse } from '../delivery/plan.ts'
import { serve, type Call } from '../server.ts'
import type { Json, Options, Refusal, Vendor } from '../vendor.ts'

export type VertexOptions = Options<GeminiModel> & {
  project?: string | undefined
  location?: string | undefined
  claude?: AnthropicModel[] | undefined
  /** Lifetime of access tokens in seconds; default 3600. */
  tokenLife?: number | undefined
}

export type Vertex = Vendor & {
  project: string
  location: string
  /** The JSON of a service account's key file; `token_uri` is this vendor's. */
  account: Json
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

export async function startVertex(options: VertexOptions = {}): Promise<Vertex> {
  const shop = new VertexShop(options)
  const vendor = await serve({
    key: 'none: access tokens come from /token',
    otherwise: options.otherwise,
    answer: (call) => shop.answer(call),
    failure: ({ status, type, message }, call) =>
      call.path === '/token'
        ? tokenError(status, type ?? 'internal_failure', message ?? 'Backend error')
        : problem({ status, message: message ?? messageFor(status) }, type),
    refusals,
    headers: () => ({ vary: 'Origin, X-Origin, Referer' }),
  })
  shop.tokenUri = `${vendor.origin}/token`
  return { ...vendor, project: shop.project, location: shop.location, account: shop.account() }
}

class VertexShop {
  readonly project: string
  readonly location: string
  readonly models: GeminiModel[]
  readonly claude: Anthropic
  readonly keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  readonly keyId = id('', 40).toLowerCase()
  readonly email: string
  readonly life: number
  /** Access tokens and their expiry, in ms. */
  readonly tokens = new Map<string, number>()
  tokenUri = ''

  constructor(options: VertexOptions) {
    this.project = options.project ?? 'loopback-project'
    this.location = options.location ?? 'us-central1'
    this.models = options.models ?? geminiModels
    this.claude = new Anthropic(options.claude ?? [{ id: 'claude-sonnet-5-5' }])
    this.email = `ukiyo@${this.project}.iam.gserviceaccount.com`
    this.life = options.tokenLife ?? 3600
  }

  account(): Json {
    return {
      type: 'service_account',
      project_id: this.project,
      private_key_id: this.keyId,
      private_key: this.keys.privateKey.export({ type: 'pkcs8', format: 'pem' }),
      client_email: this.email,
      client_id: '100000000000000000001',
      token_uri: this.tokenUri,
    }
  }

  answer(call: Call): Answer {
    const { method, path, request } = call
    if (path === '/token')
      return method === 'POST' ? this.#token(request.body.toString()) : tokenError(405, 'invalid_request', 'POST only')
    const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    if (bearer === undefined) return unauthenticatedError('Request is missing required authentication credential.')
    const ends = this.tokens.get(bearer)
    if (ends === undefined || ends <= Date.now())
      return unauthenticatedError('Request had invalid authentication credentials.')
    const match =
      /^\/v1(?:beta1)?\/projects\/([^/]+)\/locations\/([^/]+)\/publishers\/(google|anthropic)\/models\/([^/:]+):(\w+)$/.exec(
        decodeURIComponent(path),
      )
    if (method !== 'POST' || !match) return { status: 404, body: '' }
    const [, project = '', location = '', publisher, name = '', verb = ''] = match
    const resource = `projects/${project}/locations/${location}/publishers/${publisher}/models/${name}`
    if (project !== this.project)
      return problem({
        status: 403,
        message: `Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/${resource}' (or it may not exist).`,
      })
    const body = parse(request.body)
    if (!body) return problem({ status: 400, message: 'Invalid JSON payload received. Unexpected token.' })
    if (publisher === 'anthropic') return this.#claude(call, name, verb, body, resource)
    const model = this.models.find((one) => one.id === name)
    if (!model || location !== this.location || !['generateContent', 'streamGenerateContent'].includes(verb))
      return unknownModel(resource)
    const refusal = readGenerate(body, model)
    if (refusal) return problem(refusal)
    const roleless = (body['contents'] as Json[]).some((one) => one['role'] === undefined)
    if (roleless) return problem({ status: 400, message: 'Please use a valid role: user, model.' })
    const answer = generate(call, body, model, verb === 'streamGenerateContent', 'vertex')
    if (!('frames' in answer) || request.query.get('alt') === 'sse') return answer
    return { status: 200, body: answer.frames.flatMap((frame) => ('data' in frame ? [frame.data] : [])) }
  }

  #claude(call: Call, name: string, verb: string, body: Json, resource: string): Answer {
    const isStream = verb === 'streamRawPredict'
    if (!isStream && verb !== 'rawPredict') return unknownModel(resource)
    if (body['anthropic_version'] !== 'vertex-2023-10-16')
      return problem({ status: 400, message: 'anthropic_version: Field required' })
    if ('model' in body) return problem({ status: 400, message: 'model: Extra inputs are not permitted' })
    if (!this.claude.models.some((one) => one.id === name)) return unknownModel(resource)
    const { anthropic_version: _, anthropic_beta: beta, ...rest } = body
    const messagesBody = { ...rest, model: name, stream: isStream || rest['stream'] === true }
    return this.claude.speak(call, messagesBody, '2023-06-01', Array.isArray(beta) ? beta : [])
  }

  #token(form: string): Whole {
    const fields = new URLSearchParams(form)
    if (fields.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
      return tokenError(400, 'unsupported_grant_type', `Invalid grant_type: ${fields.get('grant_type')}`)
    const why = this.#fault(fields.get('assertion') ?? '')
    if (why) return tokenError(400, why[0], why[1])
    const token = id('ya29.c.', 60)
    this.tokens.set(token, Date.now() + this.life * 1000)
    return { status: 200, body: { access_token: token, expires_in: this.life, token_type: 'Bearer' } }
  }

  #fault(assertion: string): [error: string, description: string] | undefined {
    const [head = '', payload = '', signature = ''] = assertion.split('.')
    const readPart = (part: string) => parse(Buffer.from(part, 'base64url'))
    const header = readPart(head)
    const claims = readPart(payload)
    if (!header || !claims) return ['invalid_grant', 'Bad JWT: it cannot be parsed.']
    const key = createPublicKey(this.keys.publicKey.export({ type: 'spki', format: 'pem' }))
    const right = verify('sha256', Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url'))
    if (header['alg'] !== 'RS256' || !right) return ['invalid_grant', 'Invalid JWT Signature.']
    if (header['kid'] !== undefined && header['kid'] !== this.keyId) return ['invalid_grant', 'Invalid JWT Signature.']
    if (claims['iss'] !== this.email) return ['invalid_grant', 'Invalid grant: account not found']
    if (claims['aud'] !== this.tokenUri) return ['invalid_grant', 'Invalid JWT: Failed audience check.']
    const now = Date.now() / 1000
    const { iat, exp } = claims
    if (!Number.isInteger(iat) || !Number.isInteger(exp) || exp - iat > 3600 || exp < now - 300 || iat > now + 300)
      return [
        'invalid_grant',
        'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.',
      ]
    if (
      !String(claims['scope'] ?? '')
        .split(' ')
        .includes(SCOPE)
    )
      return ['invalid_scope', 'Invalid OAuth scope or ID token audience provided.']
    return undefined
  }
}

function tokenError(status: number, error: string, error_description: string): Whole {
  return { status, body: { error, error_description } }
}

function unauthenticatedError(what: string): Whole {
  const message = `${what} Expected OAuth 2 access token, login cookie or other valid authentication credential.`
  return problem({ status: 401, message })
}

function unknownModel(resource: string): Whole {
  const message = `Publisher Model \`${resource}\` was not found or your project does not have access to it.`
  return problem({ status: 404, message })
}

const refusals: Record<Refusal, () => Whole> = {
  key: () => unauthenticatedError('Request had invalid authentication credentials.'),
  ...googleRefusals,
}
