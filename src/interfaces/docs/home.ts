import type { Area } from '#core/contract.ts'
import { type Code, codes, describeCode } from '#core/errors.ts'
import { scopes } from '#core/scopes.ts'
import type { Document } from '../openapi/openapi.ts'
import { type Html, html, inline, prose } from './html.ts'
import { areaPath } from './page.ts'
import type { Guide } from './guides/guides.ts'

/** Pages of other groups listed next to the guides. */
const CARDS = ['/docs/guides/computers', '/docs/operating']

const part = (id: string, title: string, content: Html): Html =>
  html`<h2 id="${id}"><a class="anchor" href="#${id}">${title}</a></h2>
    ${content}`
const block = (text: string): Html => html`<pre tabindex="0"><code>${text}</code></pre>`

/** The first page: what applies to every endpoint. */
export const homePage = (areas: readonly Area[], guides: readonly Guide[], document: Document): Html =>
  html`<h1>One API, one key</h1>
    <p class="lead">${String(document.info.summary)}</p>
    ${firstSteps(areas, guides, document)} ${conventions(document)} ${furtherWays(document)}`

const firstSteps = (areas: readonly Area[], guides: readonly Guide[], document: Document): Html => {
  const base = document.servers[0]!.url
  return html`${part(
    'first-call',
    'First call',
    html`${prose('`uk login` signs in the command line. `uk api-keys create --name programs --scopes "*"` creates a key for your programs and shows it once. Use it like this:')}
    ${block(`curl ${base}/me \\\n  -H "Authorization: Bearer $UK_KEY"`)} ${block('uk login\nuk me get')}`,
  )}
  ${part(
    'guides',
    'Guides',
    html`<ul class="cards">
      ${guides
        .filter(({ group, path }) => group === 'Guides' || CARDS.includes(path))
        .map(
          ({ path, title, parts }) =>
            html`<li>
              <a href="${path}"
                ><strong>${title}</strong
                ><span
                  >${parts
                    .slice(1, 5)
                    .map((one) => one.title)
                    .join(' · ')}</span
                ></a
              >
            </li>`,
        )}
    </ul>`,
  )}
  ${part(
    'areas',
    'API reference',
    html`<ul class="cards">
      ${areas.map(
        (area) =>
          html`<li>
            <a href="${areaPath(area)}"><strong>${area.title}</strong><span>${inline(area.summary)}</span></a>
          </li>`,
      )}
    </ul>`,
  )}`
}

const conventions = (document: Document): Html =>
  html`${part('credentials', 'Credentials', prose(`Send your key as \`Authorization: Bearer uk_…\` or \`x-api-key: uk_…\`. Two different keys in one request are rejected. Browsers use a session cookie instead; write requests with a cookie must come from the same origin or send \`X-UK-CSRF: 1\`. Only a signed-in person can create, change, rotate and revoke keys.`))}
  ${part(
    'scopes',
    'Scopes',
    html`${prose('A key can do what its scopes allow, within its owner’s current permissions and, if set, one workspace. `write` includes `read`, and every key has `user:read`. Each endpoint lists the scope it requires.')}
      <p>${scopes.map((scope) => html`<code>${scope}</code> `)}</p>`,
  )}
  ${part(
    'answers',
    'Responses',
    html`${prose('A single resource is in `data`. Fields without a value are `null`, never missing. Times are ISO 8601 in UTC with milliseconds, and IDs are ULIDs. Sizes end in `_bytes`, amounts of money in `_usd`. Enums can get new values. Requests with unknown fields are rejected.')}
    ${block('{ "data": { "id": "01KAJ8R3T2M6QK5W9V0XBZC4DE", "created_at": "2026-11-21T09:30:00.000Z" } }')}
    ${prose('Every response has an `X-Request-Id`; include it when you report a problem. A single resource has an `ETag`. With `If-None-Match`, an unchanged resource is 304. With `If-Match`, changing a resource that changed meanwhile is 412.')}`,
  )}
  ${part(
    'lists',
    'Lists',
    html`${prose('Lists are sorted newest first. `limit` is 1 to 100, default 25. While `has_more` is true, request the next page with `next_cursor` as `cursor` and the same filters.')}
    ${block('{ "data": [ … ], "pagination": { "has_more": true, "next_cursor": "…" } }')}`,
  )}
  ${part(
    'streams',
    'Streams',
    html`${prose('Streams are server-sent events with `id:`, `event:` and one line of JSON in `data:`. A comment every 15 seconds keeps the connection open. To resume, send the last `id` as `Last-Event-ID`, if the endpoint supports it. Readers that are too slow are disconnected and can resume.')}
    ${block('id: 3\nevent: text.delta\ndata: {"seq":3,"delta":"Hello"}')}`,
  )}
  ${part('versions', 'Versions', prose(`API versions are dates; the newest is \`${String(document.info.version)}\`. A key is pinned to the newest version at its creation. \`X-Service-Version\` selects another version for one request. New endpoints and optional fields don’t change the version.`))}
  ${part('limits', 'Limits', prose('`RateLimit` and `RateLimit-Policy` show what is left and the limits. Beyond them, the response is 429 with `Retry-After` in seconds. `GET /v1/me/limits` lists your limits.'))}`

const furtherWays = (document: Document): Html =>
  html`${part(
    'gateways',
    'Model gateways',
    html`<p>
        Programs for the APIs of OpenAI, Anthropic and OpenRouter work with the same key and any model. See
        <a href="/docs/gateways">Gateways</a>.
      </p>
      <div class="wide" tabindex="0">
        <table>
          <thead>
            <tr>
              <th scope="col">Base URL</th>
              <th scope="col">API</th>
            </tr>
          </thead>
          <tbody>
            ${document['x-uk-gateways'].map(
              ({ name, url, speaks }) =>
                html`<tr>
                  <td><code>${url}</code></td>
                  <td><a href="/docs/gateways#${name}">${speaks}</a></td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`,
  )}
  ${part(
    'command-line',
    'Command line',
    html`${prose('Every endpoint is a command. `uk help` lists them, `--json` prints the API response, and `uk completion bash` sets up shell completion.')}
    ${block('uk login\nuk help commands\nuk me get --json')}`,
  )}
  ${part(
    'errors',
    'Errors',
    html`${prose('Branch on `type` in your code. `code` is the reason, `param` the field, and `message` a text for people.')}
    ${block('{ "error": { "type": "invalid_request", "code": "missing_parameter", "message": "`name` is required.", "param": "name" } }')}
    ${errorTable()}`,
  )}`

function errorTable(): Html {
  const row = (code: Code): Html => {
    const { status, type, message } = describeCode(code)
    return html`<tr>
      <td>${status}</td>
      <td><code>${type}</code></td>
      <td><code>${code}</code></td>
      <td>${inline(message)}</td>
    </tr>`
  }
  return html`<div class="wide" tabindex="0">
    <table>
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Type</th>
          <th scope="col">Code</th>
          <th scope="col">Meaning</th>
        </tr>
      </thead>
      <tbody>
        ${codes.map(row)}
      </tbody>
    </table>
  </div>`
}
