import { credentialsFor } from '#core/access.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import { exampleOf, leastExample } from '../../example.ts'
import type { Document, Operation, Parameter } from '../../openapi/openapi.ts'

/** A minimal call of an endpoint, independent of the language. */
export interface ExampleCall {
  method: string
  /** URL with path values and query. */
  url: string
  credentials: 'key' | 'session' | 'none'
  /** Header against cross-site requests, for changing calls by cookie. */
  guarded: boolean
  body: { kind: 'none' } | { kind: 'json'; value: object } | { kind: 'bytes'; type: string } | FormBody
  /** Kind of response. */
  answer: 'json' | 'events' | 'bytes' | 'nothing'
}
export interface FormBody {
  kind: 'form'
  fields: Record<string, string>
  file: string
}

export function exampleCall({ endpoint }: ListedEndpoint, operation: Operation, document: Document): ExampleCall {
  const { schemas } = document.components
  const { access, method, reply, parts, example } = endpoint
  const credentials = credentialsFor(access)
  const parameters = operation.parameters.filter((one): one is Parameter => 'name' in one)
  const valueOf = ({ name, schema }: Parameter): string => {
    const given = example?.[name]
    return encodeURIComponent(String(given ?? exampleOf(schema, schemas, name)))
  }
  const path = endpoint.path.replace(/:(\w+)/g, (_: string, name: string) => {
    const value = valueOf(parameters.find((one) => one.name === name)!)
    return endpoint.greedy ? value.replaceAll('%2F', '/') : value
  })
  const query = parameters
    .filter(({ in: place, name, required }) => place === 'query' && (required || example?.[name] !== undefined))
    .map((one) => `${one.name}=${valueOf(one)}`)
  return {
    method,
    url: `${document.servers[0]!.url}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`,
    credentials: credentials === 'key_or_session' ? 'key' : credentials,
    guarded: method !== 'GET' && (access.kind === 'session' || access.kind === 'sign_in'),
    body: bodyOf(operation, document, parts?.[0] ?? 'file', example),
    answer:
      reply.kind === 'stream'
        ? 'events'
        : reply.kind === 'bytes'
          ? 'bytes'
          : reply.kind === 'none'
            ? 'nothing'
            : 'json',
  }
}

function bodyOf(
  { requestBody }: Operation,
  { components: { schemas } }: Document,
  file: string,
  example: Readonly<Record<string, unknown>> | undefined,
): ExampleCall['body'] {
  if (requestBody === undefined) return { kind: 'none' }
  const { 'multipart/form-data': form, 'application/json': json } = requestBody.content
  const content = form ?? json
  if (content === undefined || content.schema.properties === undefined)
    return { kind: 'bytes', type: Object.keys(requestBody.content)[0]! }
  const { properties } = content.schema
  const told = Object.fromEntries(Object.entries(example ?? {}).filter(([name]) => name in properties))
  const value = { ...leastExample(content.schema, schemas), ...told }
  if (form === undefined) return Object.keys(value).length === 0 ? { kind: 'none' } : { kind: 'json', value }
  const text = (one: unknown): string => (typeof one === 'string' ? one : JSON.stringify(one))
  return { kind: 'form', file, fields: Object.fromEntries(Object.entries(value).map(([k, v]) => [k, text(v)])) }
}
