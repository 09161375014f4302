import { queryOptions } from '@tanstack/react-query'
import { type Schema, resolve } from '#interfaces/schemas.ts'

export interface Field {
  name: string
  place: 'path' | 'query' | 'body'
  required: boolean
  description: string
  /** `json`: objects, arrays and unions. */
  kind: 'text' | 'number' | 'switch' | 'json' | 'choice'
  choices: readonly string[]
  example: string
}

export interface Operation {
  /** The operation ID, such as `chats_send`; the path for gateways. */
  id: string
  /** The client's method, such as `chats.send`; null if it has none. */
  call: string | null
  area: string
  summary: string
  description: string
  method: string
  /** The path from the server's root, with `:name` for parameters. */
  path: string
  fields: readonly Field[]
  /** Null: no file. Empty: the file is the body. */
  filePart: string | null
  /** The response is binary; only its size is shown. */
  answersBytes: boolean
  streams: boolean
  /** Requires a session (`session`), a session or key (`any`), or a key (`key`). */
  auth: 'any' | 'session' | 'key' | 'none'
  /** Asks for confirmation: the call deletes something or affects others. */
  final: boolean
  /** The CLI command; null if there is none. */
  command: string | null
  docs: string
  /** Why the call can't be sent from here; null if it can. */
  closed: string | null
}

interface Document {
  tags: { name: string; 'x-displayName'?: string }[]
  paths: Record<string, Record<string, Described>>
  components: { schemas: Record<string, Schema> }
}
interface Described {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  'x-uk-cli'?: string
  'x-uk-consent'?: unknown
  parameters: (
    | { name: string; in: string; required?: boolean; schema: Schema; description?: string }
    | { $ref: string }
  )[]
  requestBody?: { content: Record<string, { schema: Schema; example?: Record<string, unknown> }> }
  responses: Record<string, { content?: Record<string, unknown> }>
  security?: Record<string, unknown>[]
}

/** The operations from the server's OpenAPI description, plus the gateway calls. */
export const operationsQuery = queryOptions({
  queryKey: ['operations'],
  queryFn: async () => {
    const response = await fetch('/v1/openapi.json', { credentials: 'same-origin' })
    if (!response.ok) throw new Error(`Couldn’t load the API description (HTTP ${response.status}).`)
    return [...operationsIn((await response.json()) as Document), ...gateways]
  },
  staleTime: Infinity,
})

export function operationsIn({ tags, paths, components: { schemas } }: Document): Operation[] {
  const areas = new Map(tags.map((tag) => [tag.name, tag['x-displayName'] ?? tag.name]))
  return (
    Object.entries(paths)
      // Routes below `/app/` are for the app alone; the reference leaves them out, too.
      .filter(([path]) => !path.startsWith('/app/'))
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, described]) => operationOf(path, method, described, areas, schemas)),
      )
  )
}

function operationOf(
  path: string,
  method: string,
  described: Described,
  areas: ReadonlyMap<string, string>,
  schemas: Record<string, Schema>,
): Operation {
  const { operationId, summary, description = '', security, responses } = described
  const [area = ''] = described.tags
  const content = described.requestBody?.content ?? {}
  const form = content['multipart/form-data']
  const body = form ?? content['application/json']
  const bytes = Object.keys(content).find((type) => type !== 'multipart/form-data' && type !== 'application/json')
  const answers = Object.entries(responses).flatMap(([status, { content = {} }]) =>
    status.startsWith('2') ? Object.keys(content) : [],
  )
  const schema = body && resolve(body.schema, schemas)
  const part = Object.entries(schema?.properties ?? {}).find(([, one]) => resolve(one, schemas).format === 'binary')
  const parameters = described.parameters.flatMap((one) => ('name' in one && one.in !== 'header' ? [one] : []))
  const isOpen = security?.length === 0
  return {
    id: operationId,
    call: `${area}.${operationId.slice(area.length + 1)}`,
    area: areas.get(area) ?? area,
    summary: summary.replaceAll('`', ''),
    description,
    method: method.toUpperCase(),
    path: `/v1${path.replace(/\{(\w+)\}/g, ':$1')}`,
    fields: [
      ...parameters.map(({ name, in: place, required = false, schema, description = '' }) =>
        fieldOf(name, place === 'path' ? 'path' : 'query', required, { description, ...schema }, schemas, undefined),
      ),
      ...Object.entries(schema?.properties ?? {})
        .filter(([name]) => name !== part?.[0])
        .map(([name, one]) =>
          fieldOf(name, 'body', schema?.required?.includes(name) ?? false, one, schemas, body?.example?.[name]),
        ),
    ],
    filePart: form ? (part?.[0] ?? 'file') : bytes !== undefined ? '' : null,
    answersBytes: answers.some((type) => type === '*/*'),
    streams: answers.includes('text/event-stream'),
    auth: isOpen ? 'none' : security ? 'session' : 'any',
    final: method === 'delete' || described['x-uk-consent'] !== undefined,
    command: described['x-uk-cli'] ?? null,
    docs: `/docs/api/${area}/${operationId.slice(area.length + 1)}`.replaceAll('_', '-'),
    closed: isOpen ? 'This endpoint is for signed-out users or other programs.' : null,
  }
}

function fieldOf(
  name: string,
  place: Field['place'],
  required: boolean,
  given: Schema,
  schemas: Record<string, Schema>,
  example: unknown,
): Field {
  const schema = resolve(given, schemas)
  const variants = (schema.anyOf ?? schema.oneOf ?? [schema]).map((one) => resolve(one, schemas))
  const types = [...new Set(variants.flatMap(({ type }) => type ?? []))].filter((type) => type !== 'null')
  const choices = variants.flatMap((one) => one.enum ?? (one.const === undefined ? [] : [one.const])).map(String)
  const isPlain = types.length === 1
  const kind =
    isPlain && types[0] === 'boolean'
      ? 'switch'
      : isPlain && choices.length > 0 && types[0] === 'string'
        ? 'choice'
        : isPlain && (types[0] === 'integer' || types[0] === 'number')
          ? 'number'
          : isPlain && types[0] === 'string'
            ? 'text'
            : place === 'body'
              ? 'json'
              : 'text'
  return {
    name,
    place,
    required,
    description: schema.description ?? '',
    kind,
    choices,
    example: example === undefined ? '' : kind === 'json' ? JSON.stringify(example, null, 2) : String(example),
  }
}

const gateway = (
  area: string,
  method: string,
  path: string,
  summary: string,
  body: Record<string, unknown> | null,
  docs: string,
): Operation => ({
  id: `${method} ${path}`,
  call: null,
  area,
  summary,
  description: '',
  method,
  path,
  fields: Object.entries(body ?? {}).map(([name, value]): Field => {
    const kind =
      typeof value === 'string'
        ? 'text'
        : typeof value === 'number'
          ? 'number'
          : typeof value === 'boolean'
            ? 'switch'
            : 'json'
    return {
      name,
      place: 'body',
      required: name === 'model',
      description: '',
      kind,
      choices: [],
      example: kind === 'json' ? JSON.stringify(value, null, 2) : String(value),
    }
  }),
  filePart: null,
  answersBytes: false,
  streams: body !== null && 'stream' in body,
  auth: 'key',
  final: false,
  command: null,
  docs,
  closed: null,
})

const messages = [{ role: 'user', content: 'Say hello in five languages.' }]
const model = 'sim/echo'
const a = ['Gateway: OpenAI format', '/docs/gateways#compat-a'] as const
const b = ['Gateway: Anthropic format', '/docs/gateways#compat-b'] as const
const c = ['Gateway: OpenRouter format', '/docs/gateways#compat-c'] as const

/** Common gateway calls; other fields can be added to the body as JSON. */
const gateways: readonly Operation[] = [
  gateway(a[0], 'POST', '/compat-a/v1/chat/completions', 'Chat completion', { model, messages, stream: true }, a[1]),
  gateway(a[0], 'POST', '/compat-a/v1/responses', 'Response', { model, input: 'Say hello.', stream: true }, a[1]),
  gateway(a[0], 'POST', '/compat-a/v1/embeddings', 'Embeddings', { model: 'sim/embed', input: 'Hello' }, a[1]),
  gateway(a[0], 'GET', '/compat-a/v1/models', 'Models', null, a[1]),
  gateway(b[0], 'POST', '/compat-b/v1/messages', 'Message', { model, max_tokens: 200, messages, stream: true }, b[1]),
  gateway(b[0], 'POST', '/compat-b/v1/messages/count_tokens', 'Count tokens', { model, messages }, b[1]),
  gateway(b[0], 'GET', '/compat-b/v1/models', 'Models', null, b[1]),
  gateway(c[0], 'POST', '/compat-c/v1/chat/completions', 'Chat completion', { model, messages, stream: true }, c[1]),
  gateway(c[0], 'GET', '/compat-c/v1/models', 'Models', null, c[1]),
]
