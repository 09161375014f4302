import { describeCode } from '#core/errors.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import { exampleOf } from '../example.ts'
import { exampleCall } from './examples/call.ts'
import { examplesOf } from './examples/languages.ts'
import type { Document, Operation, Parameter } from '../openapi/openapi.ts'
import { refusalsByStatus } from '../refusals.ts'
import { type Schema, resolve } from '../schemas.ts'
import { areaPath } from './page.ts'
import { tryIt } from './try-it.ts'
import { type Html, html, inline, prose } from './html.ts'

/** Renders an endpoint's page: parameters, responses, errors, examples and a try-it form. */
export function operationPage(listed: ListedEndpoint, document: Document): Html {
  const { area, endpoint } = listed
  const { schemas } = document.components
  const path = endpoint.path.replace(/:(\w+)/g, '{$1}')
  const operation = document.paths[path]![endpoint.method.toLowerCase()]!
  const call = exampleCall(listed, operation, document)
  return html`<p class="place"><a href="${areaPath(area)}">${area.title}</a></p>
    <h1>${inline(endpoint.summary)}</h1>
    <div class="call"><span class="method ${endpoint.method}">${endpoint.method}</span><code>/v1${path}</code></div>
    <div class="meta">${prose(operation.description)}</div>
    <div class="pair">
      <div>${inputTable(operation, schemas)}</div>
      <div>
        <div class="languages">
          ${examplesOf(listed, call).map(
            ({ language, code }) =>
              html`<section class="language" data-language="${language}">
                <h2>${language}</h2>
                <pre tabindex="0"><code>${code}</code></pre>
              </section>`,
          )}
        </div>
        ${answerOf(operation, document.components)}
      </div>
    </div>
    ${refusalsOf(listed)} ${tryIt(listed, operation, schemas, call.body.kind === 'json' ? call.body.value : {})}`
}

interface Row {
  name: string
  place: string
  required: boolean
  schema: Schema
  description: string
}

function inputTable(operation: Operation, schemas: Record<string, Schema>): Html | null {
  const parameters = operation.parameters.filter((one): one is Parameter => 'name' in one)
  const body = operation.requestBody && resolve(Object.values(operation.requestBody.content)[0]!.schema, schemas)
  const rows: Row[] = [
    ...parameters.map(({ name, in: place, required = false, schema, description = '' }) => ({
      name,
      place,
      required,
      schema,
      description,
    })),
    ...fieldRows(body ?? {}, 'body', schemas),
  ]
  return rows.length === 0
    ? null
    : html`<h2>Input</h2>
        ${fieldList(rows, schemas)}`
}

/** A vertical list of fields, which also fits a phone. */
const fieldList = (rows: readonly Row[], schemas: Record<string, Schema>): Html =>
  html`<ul class="fields">
    ${rows.map(
      ({ name, place, required, schema, description }) =>
        html`<li>
          <code>${name}</code> <span class="type">${typeOf(schema, schemas)}${place && `, ${place}`}</span>${
            required && html` <span class="required">required</span>`
          }
          ${(description || defaultOf(schema)) && html`<p>${inline(description)}${defaultOf(schema)}</p>`}
        </li>`,
    )}
  </ul>`

const fieldRows = ({ properties = {}, required = [] }: Schema, place: string, schemas: Record<string, Schema>): Row[] =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    place,
    required: place !== '' && required.includes(name),
    schema,
    description: schema.description ?? (isId(schema) ? '' : (resolve(schema, schemas).description ?? '')),
  }))

const defaultOf = ({ default: fallback }: Schema): Html | null =>
  fallback === undefined || fallback === null ? null : html` Default: <code>${JSON.stringify(fallback)}</code>.`

const isId = ({ $ref = '' }: Schema): boolean => /\/(Ulid|Id|IdInput|IdOut)$/.test($ref)

function typeOf(schema: Schema, schemas: Record<string, Schema>): string {
  const { type, items, anyOf, oneOf, enum: words, const: word, format } = resolve(schema, schemas)
  if (isId(schema)) return 'id'
  const choices = (anyOf ?? oneOf)?.map((one) => typeOf(one, schemas))
  if (choices) return [...new Set(choices)].join(' or ')
  if (words)
    return words.length > 6 ? `${words.slice(0, 5).map(String).join(' | ')} | …` : words.map(String).join(' | ')
  if (word !== undefined) return JSON.stringify(word)
  if (type === 'array') return `list of ${items ? typeOf(items, schemas) : 'anything'}`
  if (format === 'date-time') return Array.isArray(type) ? 'time or null' : 'time'
  return Array.isArray(type) ? type.join(' or ') : (type ?? 'anything')
}

function answerOf({ responses }: Operation, { schemas, responses: shared }: Document['components']): Html {
  const all = Object.entries(responses)
  // An endpoint that always fails has only errors to show.
  const [status, one] = all.find(([status]) => Number(status) < 300) ?? all[0]!
  const response = '$ref' in one ? shared[one.$ref.slice(one.$ref.lastIndexOf('/') + 1)]! : one
  const [type, { schema = {}, example } = {}] = Object.entries(response.content ?? {})[0] ?? []
  const shown =
    type === 'text/event-stream'
      ? eventsOf(schema, schemas)
      : example === undefined
        ? ''
        : JSON.stringify(example, null, 2)
  const of = resolve(schema, schemas).properties?.data
  const resource = of && resolve(resolve(of, schemas).items ?? of, schemas)
  return html`<h2>Answer ${status}</h2>
    ${shown === '' ? prose(response.description) : html`<pre tabindex="0"><code>${shown}</code></pre>`}
    ${type === 'text/event-stream' && prose(response.description)}
    ${
      resource?.properties !== undefined &&
      html`<details>
        <summary>Fields</summary>
        ${fieldList(fieldRows(resource, '', schemas), schemas)}
      </details>`
    }`
}

/** One example event per kind, in wire format. */
function eventsOf(schema: Schema, schemas: Record<string, Schema>): string {
  const kinds = resolve(schema, schemas)
  const examples = (kinds.anyOf ?? kinds.oneOf ?? [kinds]).map(
    (kind) => exampleOf(kind, schemas) as { event?: unknown; data?: unknown },
  )
  return examples.map(({ event, data }) => `event: ${String(event)}\ndata: ${JSON.stringify(data)}`).join('\n\n')
}

/** Error codes: the endpoint's own first, then the common ones, collapsed. */
function refusalsOf({ endpoint }: ListedEndpoint): Html {
  const rows = refusalsByStatus(endpoint).flatMap(([, codes]) => codes.map((code) => ({ code, ...describeCode(code) })))
  const own = new Set<string>(endpoint.refused === undefined ? (endpoint.errors ?? []) : [endpoint.refused])
  const [usual, special] = [rows.filter(({ code }) => !own.has(code)), rows.filter(({ code }) => own.has(code))]
  return html`<h2>Errors</h2>
    ${special.length > 0 && refusalTable(special)}
    ${
      usual.length > 0 &&
      html`<details>
        <summary>Common errors</summary>
        ${refusalTable(usual)}
      </details>`
    }`
}

const refusalTable = (rows: readonly { status: number; code: string; message: string }[]): Html =>
  html`<div class="wide" tabindex="0">
    <table>
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Code</th>
          <th scope="col">Meaning</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ status, code, message }) =>
            html`<tr>
              <td>${status}</td>
              <td><code>${code}</code></td>
              <td>${inline(message)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
