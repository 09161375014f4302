import { z } from 'zod'
import { scopeOf } from '#core/access.ts'
import type { Reply } from '#core/contract.ts'
import { type Code, describeCode } from '#core/errors.ts'
import { type ListedEndpoint, inputSchema } from '#core/registry.ts'
import { leastExample } from '../../example.ts'
import { refusalsOf } from '../../refusals.ts'
import { type Schema, convert } from '../../schemas.ts'
import type { Card } from '../catalogue/catalogue.ts'
import { COLLECT_BYTES, COLLECT_SECONDS } from './collect.ts'
import type { AgentCaller } from './door.ts'

/** Errors of HTTP, credentials and browsers, which calls through the MCP tools never reach. */
const elsewhere = new Set<Code>([
  'malformed_json',
  'unsupported_media_type',
  'payload_too_large',
  'unsupported_version',
  'precondition_failed',
  'cross_site',
  'misdirected_request',
  'missing_credentials',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'session_expired',
  'cookie_session_required',
])

export function describe({ name, listed }: Card, caller: AgentCaller): Record<string, unknown> {
  const { endpoint, area } = listed
  const { schemas, defs } = convert('input', { input: inputSchema(endpoint) })
  return {
    name,
    summary: endpoint.summary,
    ...(endpoint.description !== undefined && { description: endpoint.description }),
    area: area.summary,
    http: `${endpoint.method} /v1${endpoint.path}`,
    scope: scopeOf(endpoint.access),
    allowed: caller.may(scopeOf(endpoint.access)),
    ...(endpoint.consent && { consent: endpoint.consent }),
    input: withDefs(schemas.input!, defs),
    answer: answerOf(listed),
    errors: refusalsOf(endpoint)
      .filter((code) => !elsewhere.has(code))
      .map((code) => ({ code, ...describeCode(code) })),
    example: { name, input: leastExample(schemas.input!, defs) },
  }
}

const withDefs = (schema: Schema, defs: Record<string, Schema>): Schema =>
  Object.keys(defs).length === 0 ? schema : { ...schema, $defs: defs }

/** JSON Schema of `do` results: the REST envelope, or the stand-in for streams and bytes. */
function answerOf({ endpoint }: ListedEndpoint): Schema {
  const reply: Reply = endpoint.reply
  const object = (properties: Record<string, Schema>, description?: string): Schema => ({
    ...(description !== undefined && { description }),
    type: 'object',
    properties,
    required: Object.keys(properties),
  })
  switch (reply.kind) {
    case 'one':
      return of(reply.of, (item) => object({ data: item }))
    case 'operation':
      return of(reply.of, (item) =>
        object(
          { data: item },
          'If the call runs in the background, `data` is an operation. Wait for it with `operations.await`.',
        ),
      )
    case 'page':
      if (reply.or !== undefined)
        return of(z.union([z.object({ data: z.array(reply.of) }), z.object({ data: reply.or })]), (either) => either)
      return of(reply.of, (item) =>
        object({
          data: { type: 'array', items: item },
          pagination: object({ has_more: { type: 'boolean' }, next_cursor: { type: ['string', 'null'] } }),
        }),
      )
    case 'results':
      return of(reply.of, (item) =>
        object({
          items: { type: 'array', items: item },
          total_count: { type: 'integer' },
          offset: { type: 'integer' },
          has_more: { type: 'boolean' },
          query: { type: ['string', 'null'] },
          applied_filters: { type: 'object' },
        }),
      )
    case 'stream':
      return of(reply.of, (item) =>
        object(
          {
            events: { type: 'array', items: item },
            complete: { type: 'boolean' },
            last_event_id: { type: ['string', 'null'] },
          },
          `Events until the end of the stream. After ${COLLECT_SECONDS} s or ${COLLECT_BYTES} bytes, the result is cut and \`complete\` is false. Consecutive deltas are joined.`,
        ),
      )
    case 'bytes':
      return object(
        {
          data: object({
            content_type: { type: 'string' },
            size_bytes: { type: ['integer', 'null'] },
            text: { type: ['string', 'null'] },
            url: { type: ['string', 'null'] },
          }),
        },
        'Short text is in `text`, and small images and audio are separate content. Otherwise, GET `url` with the same key.',
      )
    case 'deleted':
      return object({ deleted: { const: true }, id: { type: 'string' } })
    case 'none':
      return object({}, 'Empty on success.')
  }
}

function of(type: z.ZodType, around: (item: Schema) => Schema): Schema {
  const { schemas, defs } = convert('output', { item: type })
  return withDefs(around(schemas.item!), defs)
}
