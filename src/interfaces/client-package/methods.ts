import type { Area } from '#core/contract.ts'
import { type ListedEndpoint, list } from '#core/registry.ts'
import type { Route } from '../../../packages/client/src/route.ts'
import type { Document, Operation, Parameter, Response } from '../openapi/openapi.ts'
import type { Schema } from '../schemas.ts'
import { comment, fieldsOf, indent, typeOf } from './types.ts'

/** Generates the package's `index.d.ts`: schemas, parameters and a method per endpoint. */
export function declarations(areas: readonly Area[], document: Document): string {
  const schemas = Object.entries(document.components.schemas).map(
    ([name, schema]) => `${comment([schema.description])}export type ${name} = ${typeOf(schema)}\n`,
  )
  const listed = list(areas)
  const inputs = listed.map((one) => `export interface ${inputName(one)} ${fieldsOf(inputOf(one, document))}\n`)
  const methods = areas.map((area) => {
    const all = list([area]).map((one) => methodOf(one, document))
    return `${comment([area.summary])}export interface ${areaName(area)} {\n${indent(all.join('\n'))}\n}\n`
  })
  const client = areas.map((area) => `  ${comment([area.summary]).trimEnd()}\n  ${area.name}: ${areaName(area)}`)
  return [
    "import type { CallOptions, ClientOptions, PageRequest } from './client.js'",
    "import type { Bytes } from './route.js'",
    "export type { CallOptions, ClientOptions, Page, PageRequest } from './client.js'",
    "export type { Bytes } from './route.js'",
    "export * from './errors.js'",
    '',
    ...schemas,
    ...inputs,
    ...methods,
    `/** All areas of the API. */\nexport interface Ukiyo {\n${client.join('\n')}\n}\n`,
    '/** A client for one server. No request is sent until you call a method. */',
    'export declare function createClient(options: ClientOptions): Ukiyo',
    '',
  ].join('\n')
}

/** The client's routes: `routes.chats.list`. */
export function routesOf(areas: readonly Area[], document: Document): Record<string, Record<string, Route>> {
  return Object.fromEntries(
    areas.map((area) => [area.name, Object.fromEntries(list([area]).map((one) => [one.verb, routeOf(one, document)]))]),
  )
}

function routeOf(listed: ListedEndpoint, document: Document): Route {
  const { method, path, greedy, reply, takes, parts, bytesAre = 'application/octet-stream' } = listed.endpoint
  const last = path.lastIndexOf(':')
  const { query, headers } = placesOf(operationOf(listed, document))
  return {
    method,
    path: path.replace(/:(\w+)/g, (_: string, name: string, at: number) =>
      greedy && at === last ? `{+${name}}` : `{${name}}`,
    ),
    answer: reply.kind,
    ...(query.length > 0 && { query: query.map(({ name }) => name) }),
    ...(headers.length > 0 && { headers: headers.map(fieldName) }),
    ...(takes === 'multipart' && { files: parts ?? ['file'] }),
    ...((takes === 'bytes' || takes === 'bytes_or_json') && { bytes: bytesAre }),
  }
}

const operationOf = ({ endpoint: { method, path } }: ListedEndpoint, { paths }: Document): Operation =>
  paths[path.replace(/:(\w+)/g, '{$1}')]![method.toLowerCase()]!

/** The endpoint's own parameters. Common ones are options of the client or the call. */
function placesOf({ parameters }: Operation): Record<'path' | 'query' | 'headers', Parameter[]> {
  const own = parameters.filter((one): one is Parameter => 'name' in one)
  const at = (place: string): Parameter[] => own.filter((one) => one.in === place)
  return { path: at('path'), query: at('query'), headers: at('header') }
}

/** Field name of a header: `Upload-Offset` becomes `upload_offset`. */
const fieldName = ({ name, in: place }: Parameter): string =>
  place === 'header' ? name.toLowerCase().replaceAll('-', '_') : name

/** Merges path, query, headers and body into one object type. */
function inputOf(listed: ListedEndpoint, document: Document): Schema {
  const operation = operationOf(listed, document)
  const { path, query, headers } = placesOf(operation)
  const parameters = [...path, ...query, ...headers]
  const content = operation.requestBody?.content ?? {}
  const json = content['application/json']?.schema
  const form = content['multipart/form-data']?.schema
  const { takes, parts = ['file'] } = listed.endpoint
  const bytes: Schema = { anyOf: [{ contentMediaType: 'application/octet-stream' }, { $ref: '#/ReadableStream' }] }
  const inForm = takes === 'multipart' ? parts.map((part) => [part, form!.properties![part]!] as const) : []
  const files = inForm.map(([part, schema]): [string, Schema] => {
    const inJson = json?.properties?.[part]
    return [part, inJson ? { ...inJson, anyOf: [withoutWords(inJson), withoutWords(schema)] } : schema]
  })
  return {
    properties: {
      ...Object.fromEntries(
        parameters.map((one) => [
          fieldName(one),
          { ...one.schema, ...(one.description && { description: one.description }) },
        ]),
      ),
      ...(form ?? (takes === 'bytes' ? undefined : json))?.properties,
      ...Object.fromEntries(files),
      ...((takes === 'bytes' || takes === 'bytes_or_json') && {
        bytes: { ...bytes, description: 'The request body, sent unchanged.' },
      }),
    },
    required: [
      ...parameters.filter(({ required }) => required).map(fieldName),
      ...((form ?? json)?.required ?? []),
      ...(takes === 'bytes' ? ['bytes'] : []),
    ],
  }
}

const withoutWords = (schema: Schema): Schema =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => key !== 'description' && key !== 'default'))

function methodOf(listed: ListedEndpoint, document: Document): string {
  const { verb, endpoint } = listed
  const operation = operationOf(listed, document)
  const words = [operation.summary, operation.description, `\`${endpoint.method} ${endpoint.path}\``]
  const optional = (inputOf(listed, document).required ?? []).length === 0
  const input = `input${optional ? '?' : ''}: ${inputName(listed)}`
  return `${comment(words)}${verb}(${input}, options?: CallOptions): ${answerOf(listed, operation, document)}`
}

/** A method's return type. */
function answerOf(
  { endpoint: { reply, status = 200 } }: ListedEndpoint,
  operation: Operation,
  document: Document,
): string {
  const at = (code: number): Schema | undefined => {
    const response = operation.responses[code]
    if (response === undefined) return undefined
    const { content = {} } = '$ref' in response ? sharedResponse(response.$ref, document) : response
    return (content['application/json'] ?? content['text/event-stream'])?.schema
  }
  const inData = (schema: Schema | undefined): string => typeOf(schema?.properties?.data ?? {})
  switch (reply.kind) {
    case 'one':
      return `Promise<${inData(at(status))}>`
    case 'operation': {
      const background = `{ operation: ${inData(at(202))} }`
      return `Promise<${status === 202 ? background : `${inData(at(status))} | ${background}`}>`
    }
    case 'page': {
      const schema = at(status)!
      const page = schema.anyOf?.at(-1) ?? schema
      return `PageRequest<${typeOf(page.properties!.data!.items ?? {})}, ${typeOf(schema)}>`
    }
    case 'stream':
      return `AsyncGenerator<(${typeOf(at(200) ?? {})}) & { id?: string }>`
    case 'bytes':
      return 'Promise<Response>'
    case 'none':
      return 'Promise<void>'
    default:
      return `Promise<${typeOf(at(status) ?? {})}>`
  }
}

const sharedResponse = (at: string, { components }: Document): Response =>
  components.responses[at.slice(at.lastIndexOf('/') + 1)]!

const pascal = (name: string): string => name.replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase())
const areaName = ({ name }: Area): string => `${pascal(name)}Methods`
const inputName = ({ area, verb }: ListedEndpoint): string => `${pascal(area.name)}${pascal(verb)}Call`
