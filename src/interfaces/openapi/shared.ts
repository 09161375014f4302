/** Shared parts of the document: components, envelopes, headers, credentials and errors. */
import { type Code, codes, describeCode } from '#core/errors.ts'
import { grants, scopes } from '#core/scopes.ts'
import type { Schema } from '../schemas.ts'

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
}
export interface MediaType {
  schema: Schema
  example?: unknown
  /** Content type of a form part. */
  encoding?: Record<string, { contentType: string }>
}
export interface Response {
  description: string
  headers?: Record<string, unknown>
  content?: Record<string, MediaType>
}
export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  'x-uk-scope': string | null
  'x-uk-cli': string
  'x-uk-consent'?: 'person'
  'x-uk-capability'?: string
  security?: Record<string, string[]>[]
  parameters: (Parameter | { $ref: string })[]
  requestBody?: { description?: string; required: boolean; content: Record<string, MediaType> }
  responses: Record<string, Response | { $ref: string }>
}
export interface Document {
  openapi: '3.1.1'
  info: Record<string, unknown>
  servers: { url: string; description: string }[]
  externalDocs: { description: string; url: string }
  'x-uk-gateways': Gateway[]
  tags: { name: string; description: string; 'x-displayName': string }[]
  security: Record<string, string[]>[]
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Response>
    [kind: string]: Record<string, unknown>
  }
}

/** A gateway in another vendor's API shape. */
export interface Gateway {
  name: string
  /** Base URL for that vendor's clients. */
  url: string
  speaks: string
  /** Our docs page about it. */
  docs: string
  /** The vendor's API reference. */
  reference: string
}

export const gatewaysAt = (origin: string): Gateway[] =>
  [
    ['compat-a', '/compat-a/v1', 'OpenAI', 'https://platform.openai.com/docs/api-reference'],
    ['compat-b', '/compat-b', 'Anthropic', 'https://platform.claude.com/docs/en/api/overview'],
    ['compat-c', '/compat-c/v1', 'OpenRouter', 'https://openrouter.ai/docs/api-reference/overview'],
  ].map(([name, path, vendor, reference]) => ({
    name: name!,
    url: origin + path!,
    speaks: `API format of ${vendor!}`,
    docs: `${origin}/docs/gateways#${name!}`,
    reference: reference!,
  }))

/**
 * Raw bytes have no JSON type (OpenAPI 3.1.1, "Migrating binary descriptions from OAS 3.0"). Older generators recognize
 * them by `format`.
 */
export const BYTES = { format: 'binary', contentMediaType: 'application/octet-stream' }

export const ref = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` })

// ── refusals ────────────────────────────────────────────────────────────────
/** Common sets of codes and their names. */
const named = new Map<string, ReadonlySet<Code>>()
for (const [name, ...may] of [
  ['BadRequest', 'unknown_parameter', 'unsupported_version'],
  ['BadBody', 'malformed_json', 'unknown_parameter', 'unsupported_version'],
  ['BadQuery', 'invalid_parameter', 'missing_parameter', 'unknown_parameter', 'unsupported_version'],
  ['BadPage', 'invalid_parameter', 'missing_parameter', 'unknown_parameter', 'invalid_cursor', 'unsupported_version'],
  ['BadInput', 'malformed_json', 'invalid_parameter', 'missing_parameter', 'unknown_parameter', 'unsupported_version'],
  [
    'Unauthenticated',
    'missing_credentials',
    'invalid_api_key',
    'expired_api_key',
    'revoked_api_key',
    'session_expired',
  ],
  ['SignedOut', 'missing_credentials', 'session_expired'],
  ['Misdirected', 'misdirected_request'],
  ['TooManyRequests', 'rate_limited', 'concurrency_limited'],
] as [string, ...Code[]][])
  named.set(name, new Set(may))

/** Adds a shared response named after its codes, and returns a reference. */
export function refusalResponse(
  status: number,
  may: readonly Code[],
  responses: Record<string, Response>,
): { $ref: string } {
  const name = nameOf(may)
  responses[name] ??= refused(status, may)
  return ref('responses', name)
}

/** `BadInputOrInvalidTimeZone`: the largest named set, then the remaining codes. */
function nameOf(may: readonly Code[]): string {
  const all = new Set(may)
  const [base, inBase] = [...named]
    .filter(([, set]) => set.isSubsetOf(all))
    .toSorted(([, a], [, b]) => b.size - a.size)[0] ?? [null, new Set<Code>()]
  const more = may.filter((code) => !inBase.has(code)).map(pascal)
  return [...(base === null ? [] : [base]), ...more].join('Or')
}

const pascal = (code: string): string =>
  code
    .split('_')
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('')

function refused(status: number, may: readonly Code[]): Response {
  const { type, message } = describeCode(may[0]!)
  const code = may[0] === type ? {} : { code: may[0] }
  return {
    description: may.map((one) => `\`${one}\`: ${describeCode(one).message}`).join('\n\n'),
    headers: {
      'X-Request-Id': ref('headers', 'RequestId'),
      ...(status === 429 && { 'Retry-After': ref('headers', 'RetryAfter') }),
    },
    content: {
      'application/json': { schema: ref('schemas', 'ApiError'), example: { error: { type, message, ...code } } },
    },
  }
}

// ── what every endpoint shares ──────────────────────────────────────────────
export const envelopeParts: Record<string, Schema> = {
  Ulid: {
    type: 'string',
    pattern: '^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$',
    description: 'A ULID: 26 characters of Crockford base32. Responses use upper case.',
    examples: ['01KAJ8R3T2M6QK5W9V0XBZC4DE'],
  },
  Pagination: {
    type: 'object',
    required: ['has_more', 'next_cursor'],
    properties: {
      has_more: { type: 'boolean' },
      next_cursor: {
        type: ['string', 'null'],
        description: 'The value of `cursor` for the next page. Null: this is the last page.',
        examples: [null],
      },
    },
  },
  Deleted: {
    type: 'object',
    required: ['deleted', 'id'],
    properties: { deleted: { type: 'boolean', const: true }, id: { type: 'string' } },
  },
  // Not `Error`, which would clash with the language's own type in generated clients.
  ApiError: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['type', 'message'],
        properties: {
          type: {
            type: 'string',
            description: 'The error type, for programs to branch on.',
            examples: [...new Set(codes.map((code) => describeCode(code).type))],
          },
          message: { type: 'string', description: 'The error message, for people.' },
          code: { type: 'string', description: 'A more specific error code. New codes can be added.' },
          param: { type: 'string', description: 'The invalid field, such as `a.b.0`.' },
          details: { type: 'object', description: 'Further data, as documented for the code.' },
        },
      },
    },
  },
}

export const parameters = {
  Version: {
    name: 'X-Service-Version',
    in: 'header',
    description: 'The API version of this request. Default: the version the key is pinned to, otherwise the newest.',
    schema: { type: 'string', format: 'date' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description: 'A known `ETag`. If the resource hasn’t changed, the response is 304.',
    schema: { type: 'string' },
  },
}

/** Headers of every authenticated response. */
export const answerHeaders = {
  'X-Request-Id': ref('headers', 'RequestId'),
  'X-Service-Version': ref('headers', 'ServiceVersion'),
  RateLimit: ref('headers', 'RateLimit'),
  'RateLimit-Policy': ref('headers', 'RateLimitPolicy'),
}

/** Success responses common to all endpoints. */
export const successes = {
  NotModified: { description: 'Not changed since the `ETag` in `If-None-Match`.', headers: answerHeaders },
  Deleted: {
    description: 'Done.',
    headers: answerHeaders,
    content: {
      'application/json': {
        schema: ref('schemas', 'Deleted'),
        example: { deleted: true, id: '01KAJ8R3T2M6QK5W9V0XBZC4DE' },
      },
    },
  },
} satisfies Record<string, Response>

const header = (description: string, type = 'string') => ({ description, schema: { type } })
export const headers = {
  RequestId: header('The ID of this request (a ULID). Include it when you report a problem.'),
  ServiceVersion: header('The API version of the response.'),
  RateLimit: header('The remaining quota, such as `"reads";r=5999;t=1` (IETF draft).'),
  RateLimitPolicy: header('The limits, such as `"reads";q=6000;w=60` (IETF draft).'),
  RetryAfter: header('The number of seconds to wait.', 'integer'),
  ETag: header('The version of the resource, for `If-None-Match` and `If-Match`.'),
  Location: header('The URL.'),
}

export const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer uk_…`.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same API key in a separate header.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'uk_session',
    description:
      'A signed-in session. With https, the cookie is `__Host-uk_session`. Requests that change data must come from the same origin or include `X-UK-CSRF: 1`.',
  },
}

export const about = `One REST API for chats, agents, files, computers, automations and models.

**Envelopes.** A single resource is \`{ "data": … }\`, a list \`{ "data": […], "pagination": { "has_more", "next_cursor" } }\`, a deletion \`{ "deleted": true, "id" }\`, an error \`{ "error": { "type", "message", "code", "param", "details" } }\`.

**Fields.** Field names use snake_case, times are ISO 8601 in UTC with milliseconds, IDs are ULIDs, and fields without a value are \`null\`. Unknown fields in a request are rejected. Enums are open: new values can be added.

**Scopes** of API keys (\`write\` implies \`read\`, and every key has \`${[...grants([])].join()}\`): ${scopes.map((scope) => `\`${scope}\``).join(' ')}.

**Model gateways** accept the same API keys, in the API formats of three other vendors: \`POST /compat-a/v1/chat/completions\`, \`POST /compat-b/v1/messages\` and \`POST /compat-c/v1/chat/completions\`, directly under the origin, not under \`/v1\`. They return errors in the vendor’s format. \`x-uk-gateways\` in this document links to their documentation.

\`X-Client-Request-Id\` (up to 128 visible ASCII characters) is logged and returned.`
