import type { Area } from '#core/contract.ts'
import { list } from '#core/registry.ts'
import { type Html, html, inline } from './html.ts'
import { operationPath } from './page.ts'

/** Renders an area's page with links to its endpoints. */
export const areaPage = (area: Area): Html =>
  html`<h1>${area.title}</h1>
    <p class="lead">${inline(area.summary)}</p>
    <ul class="operations">
      ${list([area]).map(
        (listed) =>
          html`<li>
            <a href="${operationPath(listed)}"
              ><span class="method ${listed.endpoint.method}">${listed.endpoint.method}</span
              ><code>${listed.endpoint.path.replace(/:(\w+)/g, '{$1}')}</code
              ><span>${inline(listed.endpoint.summary)}</span></a
            >
          </li>`,
      )}
    </ul>`
