import { z } from 'zod'
import { type Access, credentialsFor, scopeOf } from '#core/access.ts'
import type { AnyEndpoint, Area, Reply } from '#core/contract.ts'
import { pathNames } from '#core/contract.ts'
import { type ListedEndpoint, inputSchemas, list } from '#core/registry.ts'
import { exampleOf, leastExample } from '../example.ts'
import {
  BYTES,
  type Document,
  type MediaType,
  type Operation,
  type Parameter,
  type Response,
  about,
  answerHeaders,
  envelopeParts,
  gatewaysAt,
  headers,
  parameters,
  ref,
  refusalResponse,
  securitySchemes,
  successes,
} from './shared.ts'
import { refusalsByStatus } from '../refusals.ts'
import { type Described, type Schema, describe } from '../schemas.ts'
import { wordsOf } from '../words.ts'

export type { Document, Operation, Parameter, Response } from './shared.ts'

export interface OpenapiOptions {
  /** The instance's address. The server URL is `{origin}/v1`. */
  origin: string
  version: string
}

/** Builds the OpenAPI 3.1 document of these areas. Pure. */
export function openapi(areas: readonly Area[], { origin, version }: OpenapiOptions): Document {
  const listed = list(areas)
  const described = describe(inputsOf(listed), outputsOf(listed))
  const schemas: Record<string, Schema> = { ...described.components, ...envelopeParts }
  const responses: Record<string, Response> = { ...successes }
  const paths: Document['paths'] = {}
  for (const one of listed) {
    const path = one.endpoint.path.replace(/:(\w+)/g, '{$1}')
    ;(paths[path] ??= {})[one.endpoint.method.toLowerCase()] = operationOf(one, described, schemas, responses)
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Ukiyo',
      version,
      summary: 'Chats, agents, files, computers, automations and models behind one API and one key.',
      description: about,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: `${origin}/v1`, description: 'This instance' }],
    externalDocs: { description: 'Guides, and a reference page for each endpoint.', url: `${origin}/docs` },
    'x-uk-gateways': gatewaysAt(origin),
    tags: areas.map(({ name, title, summary }) => ({ name, description: summary, 'x-displayName': title })),
    security: [{ bearer: [] }, { apiKey: [] }, { session: [] }],
    paths,
    components: { schemas, parameters, headers, responses, securitySchemes },
  }
}

const inputsOf = (listed: readonly ListedEndpoint[]): Record<string, z.ZodType> =>
  Object.fromEntries(
    listed.flatMap(({ name, endpoint }) => {
      const { query, body, headers } = inputSchemas(endpoint)
      const path: [string, z.ZodType][] = Object.entries(endpoint.params ?? {})
      return [
        [`${name} query`, query] as const,
        ...(body ? [[`${name} body`, body] as const] : []),
        ...(headers ? [[`${name} headers`, headers] as const] : []),
        ...path.map(([key, type]) => [`${name} path ${key}`, type] as const),
      ]
    }),
  )

const outputsOf = (listed: readonly ListedEndpoint[]): Record<string, z.ZodType> =>
  Object.fromEntries(
    listed.flatMap(({ name, endpoint: { reply } }): [string, z.ZodType][] => {
      const further = reply.kind === 'page' ? reply.extra : reply.kind === 'results' ? reply.filters : undefined
      return [
        ...('of' in reply ? [[name, reply.of] as [string, z.ZodType]] : []),
        ...(reply.kind === 'operation' && reply.events
          ? [[`${name} events`, reply.events] as [string, z.ZodType]]
          : []),
        ...(reply.kind === 'page' && reply.or ? [[`${name} or`, reply.or] as [string, z.ZodType]] : []),
        ...(further ? [[`${name} further`, z.object(further).partial()] as [string, z.ZodType]] : []),
      ]
    }),
  )

function operationOf(
  listed: ListedEndpoint,
  described: Described,
  schemas: Record<string, Schema>,
  shared: Record<string, Response>,
): Operation {
  const { name, area, endpoint } = listed
  const { access, consent, summary, description } = endpoint
  const credentials = credentialsFor(access)
  return {
    operationId: name.replace('.', '_'),
    tags: [area.name],
    summary,
    description: [description, whoMay(access), consent && credentials === 'key_or_session' && NEEDS_CONSENT]
      .filter(Boolean)
      .join('\n\n'),
    'x-uk-scope': scopeOf(access),
    'x-uk-cli': ['uk', ...wordsOf(listed)].join(' '),
    ...(consent && { 'x-uk-consent': consent }),
    ...(access.kind === 'resource' && access.capability && { 'x-uk-capability': access.capability }),
    ...(credentials === 'session' && { security: [{ session: [] }] }),
    ...(credentials === 'none' && { security: [] }),
    parameters: parametersOf(listed, described),
    ...bodyOf(endpoint, described.inputs[`${name} body`], schemas),
    responses: {
      ...(endpoint.refused === undefined && successOf(listed, described, schemas)),
      ...Object.fromEntries(
        refusalsByStatus(endpoint).map(([status, may]) => [status, refusalResponse(status, may, shared)]),
      ),
    },
  }
}

/**
 * Body content types. Client generators use the first one, or JSON if present, so a multipart form that covers all of
 * the JSON is described alone. Otherwise, generated clients couldn't send files.
 */
function bodyOf(
  { takes, parts, bytesAre = BYTES.contentMediaType, example }: AnyEndpoint,
  body: Schema | undefined,
  schemas: Record<string, Schema>,
): Pick<Operation, 'requestBody'> {
  const bytes = { [bytesAre]: { schema: bytesAre === 'application/json' ? {} : BYTES } }
  if (takes === 'bytes') return { requestBody: { required: true, content: bytes } }
  if (body === undefined || Object.keys(body.properties ?? {}).length === 0) return {}
  const told = Object.entries(example ?? {}).filter(([name]) => name in body.properties!)
  const first = { ...leastExample(body, schemas), ...Object.fromEntries(told) }
  const json = { 'application/json': { schema: body, example: first } }
  const required = (body.required ?? []).length > 0
  if (takes === 'bytes_or_json') return { requestBody: { required, content: { ...bytes, ...json } } }
  if (takes !== 'multipart') return { requestBody: { required, content: json } }
  const form = { 'multipart/form-data': formOf(body, parts) }
  if (parts !== undefined) return { requestBody: { required, content: { ...form, ...json } } }
  const description = 'The same fields, without the part `file`, can also be sent as `application/json`.'
  return { requestBody: { description, required, content: form } }
}

/** The fields as parts, with the bytes last. */
function formOf(body: Schema, parts: readonly string[] | undefined): MediaType {
  const bytes: Record<string, Schema> =
    parts === undefined
      ? { file: { ...BYTES, description: 'The file content. This part must come last.' } }
      : Object.fromEntries(
          parts.map((part) => [
            part,
            { type: 'array', items: BYTES, description: 'The file contents, one part each, after the fields.' },
          ]),
        )
  return {
    schema: { ...body, properties: { ...body.properties, ...bytes } },
    encoding: Object.fromEntries(Object.keys(bytes).map((part) => [part, { contentType: BYTES.contentMediaType }])),
  }
}

const NEEDS_CONSENT =
  'An agent needs a person’s approval for each request. If no one is available to approve it, the response is 403 `consent_required`.'

function whoMay(access: Access): string {
  switch (credentialsFor(access)) {
    case 'key_or_session':
      return `An API key requires the scope \`${scopeOf(access)}\`.`
    case 'session':
      return 'Requires a signed-in session with a cookie. An API key gets 403 `cookie_session_required`.'
    case 'none':
      return 'Requires no credentials.'
  }
}

function parametersOf({ name, endpoint }: ListedEndpoint, { inputs }: Described): Operation['parameters'] {
  const path = pathNames(endpoint.path).map((key, i, all): Parameter => {
    const described: Schema = inputs[`${name} path ${key}`] ?? ref('schemas', 'Ulid')
    const { description, ...schema } = described
    const greedy = endpoint.greedy && i === all.length - 1 ? 'Can contain slashes, encoded or not.' : undefined
    const words = description ?? greedy
    return { name: key, in: 'path', required: true, ...(words !== undefined && { description: words }), schema }
  })
  const parametersIn = (place: 'query' | 'header', { properties = {}, required = [] }: Schema): Parameter[] =>
    Object.entries(properties).map(([key, { description, ...schema }]) => ({
      name: place === 'header' ? headerName(key) : key,
      in: place,
      ...(required.includes(key) && { required: true }),
      ...(description !== undefined && { description }),
      schema,
    }))
  const query = [
    ...parametersIn('query', inputs[`${name} query`]!),
    ...parametersIn('header', inputs[`${name} headers`] ?? {}),
  ]
  const single = endpoint.method === 'GET' && endpoint.reply.kind === 'one'
  return [...path, ...query, ref('parameters', 'Version'), ...(single ? [ref('parameters', 'IfNoneMatch')] : [])]
}

/** Header name of a field: `upload_offset` becomes `Upload-Offset`. */
const headerName = (field: string): string =>
  field
    .split('_')
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('-')

/** Success responses by reply kind. */
function successOf(
  { name, endpoint }: ListedEndpoint,
  { outputs }: Described,
  schemas: Record<string, Schema>,
): Operation['responses'] {
  const reply: Reply = endpoint.reply
  const { status = 200, access, method } = endpoint
  const of = outputs[name] ?? {}
  const further = outputs[`${name} further`]
  const known = credentialsFor(access) !== 'none'
  const { RateLimit: _, 'RateLimit-Policy': __, ...toAnybody } = answerHeaders
  const carried = known ? answerHeaders : toAnybody
  const same = (name: keyof typeof successes) =>
    known ? ref('responses', name) : { ...successes[name], headers: carried }
  const json = (description: string, schema: Schema): Response => ({
    description,
    headers: { ...carried, ...(method === 'GET' && reply.kind === 'one' && { ETag: ref('headers', 'ETag') }) },
    content: { 'application/json': { schema, example: exampleOf(schema, schemas) } },
  })
  const raw = (description: string, type: string, schema: Schema): Response => ({
    description,
    headers: carried,
    content: { [type]: { schema } },
  })
  const happening = outputs[`${name} events`]
  const orEvents = (response: Response): Response =>
    happening ? { ...response, content: { ...response.content, 'text/event-stream': { schema: happening } } } : response
  switch (reply.kind) {
    case 'one':
      return {
        [status]: json(saying[status], data(of)),
        ...(method === 'GET' && { 304: same('NotModified') }),
      }
    case 'operation':
      return {
        ...(status !== 202 && { [status]: orEvents(json(saying[status], data(of))) }),
        202: json(
          'Continues in the background: `data` is an operation.',
          data('Operation' in schemas ? ref('schemas', 'Operation') : of),
        ),
      }
    case 'page': {
      const page: Schema = {
        type: 'object',
        required: ['data', 'pagination'],
        properties: {
          data: { type: 'array', items: of },
          pagination: ref('schemas', 'Pagination'),
          ...further?.properties,
        },
      }
      const or = outputs[`${name} or`]
      return {
        [status]: or
          ? json('A single resource, or a page of the list, depending on the query.', { anyOf: [data(or), page] })
          : json('A page of the list.', page),
      }
    }
    case 'results':
      return {
        [status]: json('The search results.', {
          type: 'object',
          required: ['items', 'total_count', 'offset', 'has_more', 'query', 'applied_filters'],
          properties: {
            items: { type: 'array', items: of },
            total_count: { type: 'integer' },
            offset: { type: 'integer' },
            has_more: { type: 'boolean' },
            query: { type: ['string', 'null'] },
            applied_filters: further ?? { type: 'object' },
          },
        }),
      }
    case 'stream':
      return { [status]: raw(streaming, 'text/event-stream', of) }
    case 'bytes':
      return {
        [status]: raw('The content, with its own content type.', '*/*', BYTES),
        206: raw('The part requested by `Range`.', '*/*', BYTES),
        302: {
          description: 'The content is at `Location`.',
          headers: { ...carried, Location: ref('headers', 'Location') },
        },
      }
    case 'deleted':
      return { [status]: same('Deleted') }
    case 'none':
      return { 204: { description: 'The request succeeded. The response has no body.', headers: carried } }
  }
}

const data = (of: Schema): Schema => ({ type: 'object', required: ['data'], properties: { data: of } })
const saying: Record<number, string> & Record<200 | 201 | 202, string> = {
  200: 'Done.',
  201: 'Made.',
  202: 'Accepted. The work continues in the background.',
}
const streaming =
  'Server-sent events. Each has `id:`, `event:` and one line of `data:` JSON, described here as one object. A comment line is sent every 15 seconds to keep the connection open. If the stream can be resumed, send the last `id` back in `Last-Event-ID`.'
