import { credentialsFor } from '#core/access.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import type { Operation, Parameter } from '../openapi/openapi.ts'
import { type Schema, resolve } from '../schemas.ts'
import { type Html, html } from './html.ts'

/**
 * A form that calls the endpoint with the app's session cookie. Hidden until `browser/docs.js` finds a session. Sign-in
 * and sign-out endpoints get none.
 */
export function tryIt(
  { endpoint }: ListedEndpoint,
  operation: Operation,
  schemas: Record<string, Schema>,
  body: object,
): Html | null {
  const { access, method, path, takes, parts, consent, reply } = endpoint
  if (credentialsFor(access) === 'none' || endpoint.refused !== undefined) return null
  const parameters = operation.parameters.filter((one): one is Parameter => 'name' in one && one.in !== 'header')
  const hasJson = takes !== 'bytes' && operation.requestBody !== undefined
  const file = takes === 'multipart' ? (parts?.[0] ?? 'file') : takes === 'bytes' ? '' : undefined
  const final = method === 'DELETE' || consent !== undefined
  return html`<section
    class="try"
    hidden
    aria-labelledby="try-it"
    data-method="${method}"
    data-path="${path}"
    data-answer="${reply.kind}"
  >
    <h2 id="try-it">Try it here</h2>
    <p>This calls the server for real, as <strong data-who>you</strong>.</p>
    <form>
      ${parameters.map((one) => fieldOf(one, schemas))}
      ${
        hasJson &&
        html`<label class="field"
          ><span>Body</span
          ><textarea
            name="body"
            rows="${Math.min(14, JSON.stringify(body, null, 2).split('\n').length + 2)}"
            spellcheck="false"
          >
${JSON.stringify(body, null, 2)}</textarea>
        </label>`
      }
      ${
        file !== undefined &&
        html`<label class="field"><span>File</span><input type="file" name="file" data-part="${file}" /></label>`
      }
      ${
        final &&
        html`<label class="sure"
          ><input type="checkbox" required /> I know that this changes what others may rely on.</label
        >`
      }
      <button type="submit">Send ${method}</button>
    </form>
    <div class="answer" role="status" aria-live="polite"></div>
  </section>`
}

function fieldOf({ name, in: place, required = false, schema }: Parameter, schemas: Record<string, Schema>): Html {
  const { enum: words, type } = resolve(schema, schemas)
  const needed = required && html` required`
  const field = words
    ? html`<select name="${name}" data-in="${place}" ${needed}>
        ${!required && html`<option value=""></option>`}${words.map((word) => html`<option>${String(word)}</option>`)}
      </select>`
    : html`<input
        name="${name}"
        data-in="${place}"
        ${needed}
        inputmode="${type === 'integer' ? 'numeric' : 'text'}"
        autocomplete="off"
        spellcheck="false"
      />`
  return html`<label class="field"><span>${name}${required && html` <small>required</small>`}</span>${field}</label>`
}
