import type { Area } from '#core/contract.ts'
import { type Code, codes, describeCode } from '#core/errors.ts'
import { scopes } from '#core/scopes.ts'
import type { Document } from '../openapi/openapi.ts'
import { type Html, html, inline, prose } from './html.ts'
import { areaPath } from './page.ts'
import type { Guide } from './guides/guides.ts'

/** Pages of other groups that the first page shows beside the guides: each leads to more. */
const CARDS = ['/docs/guides/computers', '/docs/operating']

/** The first page: everything that holds for every endpoint. */
export function homePage(areas: readonly Area[], guides: readonly Guide[], document: Document): Html {
  const base = document.servers[0]!.url
  const part = (id: string, title: string, content: Html) =>
    html`<h2 id="${id}"><a class="anchor" href="#${id}">${title}</a></h2>
      ${content}`
  const block = (text: string) => html`<pre tabindex="0"><code>${text}</code></pre>`
  return html`<h1>One API, one key</h1>
    <p class="lead">${String(document.info.summary)}</p>
    ${part(
      'first-call',
      'The first call',
      html`${prose('`uk login` makes a key for this machine; `uk api-keys create --name programs --scopes "*"` makes one for a program, and shows it once. Then:')}
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
      'What there is',
      html`<ul class="cards">
        ${areas.map(
          (area) =>
            html`<li>
              <a href="${areaPath(area)}"><strong>${area.title}</strong><span>${inline(area.summary)}</span></a>
            </li>`,
        )}
      </ul>`,
    )}
    ${part('credentials', 'Credentials', prose(`A key travels as \`Authorization: Bearer uk_…\` or as \`x-api-key: uk_…\`; two that differ are refused. A person in a browser has a session cookie instead. Calls by cookie that change something come from the same origin, or carry \`X-UK-CSRF: 1\`. Keys are made, changed, rotated and revoked only by a signed-in person, never by a key.`))}
    ${part(
      'scopes',
      'Scopes',
      html`${prose('A key does only what its scopes name, within what its owner may do now and the workspace it is bound to. `write` includes `read`; every key has `user:read`. Each endpoint says which one it needs.')}
        <p>${scopes.map((scope) => html`<code>${scope}</code> `)}</p>`,
    )}
    ${part(
      'answers',
      'Answers',
      html`${prose('A single resource stands in `data`. A field without a value is `null`, never left out. Times are ISO 8601 in UTC with milliseconds, ids are ULIDs, sizes end in `_bytes`, money in `_usd`. Enums are open: new values may come. A request with an unknown field is refused.')}
      ${block('{ "data": { "id": "01KAJ8R3T2M6QK5W9V0XBZC4DE", "created_at": "2026-11-21T09:30:00.000Z" } }')}
      ${prose('Every answer carries `X-Request-Id`; quote it when you ask about a call. A single resource has an `ETag`: send it back in `If-None-Match` and an unchanged one is 304, or in `If-Match` and a change to what has changed meanwhile is 412.')}`,
    )}
    ${part(
      'lists',
      'Lists',
      html`${prose('Newest first, `limit` from 1 to 100, 25 if you name none. While `has_more` is true, send `next_cursor` back as `cursor`, with the same filters.')}
      ${block('{ "data": [ … ], "pagination": { "has_more": true, "next_cursor": "…" } }')}`,
    )}
    ${part(
      'streams',
      'Streams',
      html`${prose('Streams are server-sent events: `id:`, `event:` and one line of JSON in `data:`. A comment every 15 seconds keeps the line open. After a break, send the last `id` as `Last-Event-ID` where the endpoint says that it resumes. A reader that is too slow is cut off, and resumes the same way.')}
      ${block('id: 3\nevent: text.delta\ndata: {"seq":3,"delta":"Hello"}')}`,
    )}
    ${part('versions', 'Versions', prose(`The contract is dated; the newest version is \`${String(document.info.version)}\`. A key is pinned to the version that was newest when it was made, and \`X-Service-Version\` selects another for one call. New endpoints and new optional fields come without a new date.`))}
    ${part('limits', 'Limits', prose('`RateLimit` and `RateLimit-Policy` say what is left and what holds; beyond it the answer is 429 with `Retry-After` in seconds. `GET /v1/me/limits` lists the limits.'))}
    ${part(
      'gateways',
      'Model gateways',
      html`<p>
          The same key works where a program expects the API of another vendor, with any model:
          <a href="/docs/gateways">what each takes, with code</a>.
        </p>
        <div class="wide" tabindex="0">
          <table>
            <thead>
              <tr>
                <th scope="col">Base address</th>
                <th scope="col">For programs that speak</th>
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
      'The command line',
      html`${prose('Every endpoint is a command. `uk help` explains them all, `--json` prints what the API answers, and `uk completion bash` teaches your shell.')}
      ${block('uk login\nuk help commands\nuk me get --json')}`,
    )}
    ${part(
      'errors',
      'Errors',
      html`${prose('Branch on `type`; `code` says why, `param` names the field, `message` is for people.')}
      ${block('{ "error": { "type": "invalid_request", "code": "missing_parameter", "message": "`name` is required.", "param": "name" } }')}
      ${errorTable()}`,
    )}`
}

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
