import type { Area } from '#kernel/contract.ts'
import { describeCode } from '#kernel/errors.ts'
import { type Listed, list } from '#kernel/registry.ts'
import { exampleCommands } from '../cli/help/examples.ts'
import { exampleOf } from '../example.ts'
import type { Document, Operation, Parameter } from '../openapi/openapi.ts'
import { refusalsByStatus } from '../refusals.ts'
import { type Schema, resolve } from '../schemas.ts'
import { type Html, html, inline, prose } from './html.ts'

/** An area's page: every endpoint with what it takes, answers and refuses. */
export function areaPage(area: Area, document: Document): Html {
  const listed = list([area])
  return html`<h1>${area.title}</h1>
    <p class="lead">${inline(area.summary)}</p>
    <ul class="contents">
      ${listed.map(({ verb, endpoint }) => html`<li><a href="#${verb}">${inline(endpoint.summary)}</a></li>`)}
    </ul>
    ${listed.map((one) => endpointSection(one, document))}`
}

function endpointSection(listed: Listed, document: Document): Html {
  const { verb, endpoint } = listed
  const { schemas } = document.components
  const path = endpoint.path.replace(/:(\w+)/g, '{$1}')
  const operation = document.paths[path]![endpoint.method.toLowerCase()]!
  return html`<section class="endpoint" aria-labelledby="${verb}">
    <h2 id="${verb}"><a class="anchor" href="#${verb}">${inline(endpoint.summary)}</a></h2>
    <div class="call"><span class="method ${endpoint.method}">${endpoint.method}</span><code>/v1${path}</code></div>
    <div class="meta">${prose(operation.description)}</div>
    ${inputTable(operation, schemas)}
    <div class="pair">
      <div>
        <h3>With curl</h3>
        <pre tabindex="0">${curlOf(listed, operation, document)}</pre>
        <h3>With uk</h3>
        <pre tabindex="0">${exampleCommands(listed).join('\n')}</pre>
      </div>
      <div>${answerOf(operation, document.components)}</div>
    </div>
    ${refusalsOf(listed)}
  </section>`
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
    ...fieldRows(body ?? {}, 'body'),
  ]
  if (rows.length === 0) return null
  return html`<h3>Input</h3>
    <div class="wide">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">In</th>
            <th scope="col">Type</th>
            <th scope="col">What it is</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ({ name, place, required, schema, description }) =>
              html`<tr>
                <td><code>${name}</code>${required && html`<span class="required">required</span>`}</td>
                <td class="type">${place}</td>
                <td class="type">${typeOf(schema, schemas)}</td>
                <td>${inline(description || (resolve(schema, schemas).description ?? ''))}${defaultOf(schema)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`
}

const fieldRows = ({ properties = {}, required = [] }: Schema, place: string): Row[] =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    place,
    required: required.includes(name),
    schema,
    description: schema.description ?? '',
  }))

const defaultOf = ({ default: fallback }: Schema): Html | null =>
  fallback === undefined || fallback === null ? null : html` Default: <code>${JSON.stringify(fallback)}</code>.`

const isId = ({ $ref = '' }: Schema): boolean => /\/(Ulid|Id|IdOut)$/.test($ref)

/** A schema's type in a few words. */
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
  // One that refuses whatever it is asked has only its refusals to show.
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
  return html`<h3>Answer ${status}</h3>
    ${shown === '' ? prose(response.description) : html`<pre tabindex="0">${shown}</pre>`}
    ${type === 'text/event-stream' && prose(response.description)}
    ${
      resource?.properties !== undefined &&
      html`<details>
        <summary>Its fields</summary>
        <div class="wide">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Type</th>
                <th scope="col">What it is</th>
              </tr>
            </thead>
            <tbody>
              ${fieldRows(resource, '').map(
                ({ name, schema }) =>
                  html`<tr>
                    <td><code>${name}</code></td>
                    <td class="type">${typeOf(schema, schemas)}</td>
                    <td>${inline(resolve(schema, schemas).description ?? '')}</td>
                  </tr>`,
              )}
            </tbody>
          </table>
        </div>
      </details>`
    }`
}

/** One event of each kind, as it comes over the wire. */
function eventsOf(schema: Schema, schemas: Record<string, Schema>): string {
  const kinds = resolve(schema, schemas)
  const examples = (kinds.anyOf ?? kinds.oneOf ?? [kinds]).map(
    (kind) => exampleOf(kind, schemas) as { event?: unknown; data?: unknown },
  )
  return examples.map(({ event, data }) => `event: ${String(event)}\ndata: ${JSON.stringify(data)}`).join('\n\n')
}

function refusalsOf({ endpoint }: Listed): Html {
  const rows = refusalsByStatus(endpoint).flatMap(([, codes]) => codes.map((code) => ({ code, ...describeCode(code) })))
  const own = new Set<string>(endpoint.errors ?? [])
  const inOrder = [...rows.filter(({ code }) => own.has(code)), ...rows.filter(({ code }) => !own.has(code))]
  return html`<details>
    <summary>Errors</summary>
    <div class="wide">
      <table>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Code</th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        <tbody>
          ${inOrder.map(
            ({ status, code, message }) =>
              html`<tr>
                <td>${status}</td>
                <td><code>${code}</code></td>
                <td>${inline(message)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`
}

function curlOf({ endpoint }: Listed, operation: Operation, document: Document): string {
  const { auth = 'any', method } = endpoint
  const { schemas } = document.components
  const parameters = operation.parameters.filter((one): one is Parameter => 'name' in one)
  const value = ({ name, schema }: Parameter) => encodeURIComponent(String(exampleOf(schema, schemas, name)))
  const path = endpoint.path.replace(/:(\w+)/g, (_: string, name: string) =>
    value(parameters.find((one) => one.name === name)!),
  )
  const query = parameters.filter((one) => one.in === 'query' && one.required).map((one) => `${one.name}=${value(one)}`)
  const url = `${document.servers[0]!.url}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`
  const body =
    operation.requestBody && JSON.stringify(Object.values(operation.requestBody.content)[0]!.example, null, 2)
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} ${/[?&]/.test(url) ? `'${url}'` : url}`,
    auth === 'any' && `-H "Authorization: Bearer $UK_KEY"`,
    auth === 'session' && `-b "uk_session=$SESSION"`,
    method !== 'GET' && (auth === 'session' || auth === 'sign_in') && `-H 'X-UK-CSRF: 1'`,
    body && `-H 'Content-Type: application/json'`,
    body && `-d '${body.replaceAll("'", String.raw`'\''`)}'`,
  ]
  return lines.filter(Boolean).join(' \\\n  ')
}
