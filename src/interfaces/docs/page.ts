import type { Area } from '#core/contract.ts'
import { type ListedEndpoint, list } from '#core/registry.ts'
import { kebab } from '../words.ts'
import { type Guide, groups } from './guides/guides.ts'
import { type Html, html } from './html.ts'

export const areaPath = ({ name }: Area): string => `/docs/api/${kebab(name)}`
export const operationPath = ({ area, verb }: ListedEndpoint): string => `${areaPath(area)}/${kebab(verb)}`

/** Pages in the navigation. */
export interface Contents {
  areas: readonly Area[]
  guides: readonly Pick<Guide, 'path' | 'title' | 'group'>[]
}

/** The layout of every page; `asked` is the search query. */
export function page(title: string, here: string, { areas, guides }: Contents, content: Html, asked = ''): string {
  const link = (path: string, text: string): Html =>
    html`<li><a href="${path}" ${path === here && html` aria-current="page"`}>${text}</a></li>`
  const within = (area: Area): boolean => here === areaPath(area) || here.startsWith(`${areaPath(area)}/`)
  const guideLists = groups.map((group) => {
    const members = guides.filter((guide) => guide.group === group)
    return (
      members.length > 0 &&
      html`<h2>${group}</h2>
        <ul>
          ${members.map((guide) => link(guide.path, guide.title))}
        </ul>`
    )
  })
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="stylesheet" href="/docs/style.css" />
        <script src="/docs/docs.js" defer></script>
      </head>
      <body>
        <a class="skip" href="#content">Skip to content</a>
        <header>
          <a class="name" href="/docs">Ukiyo</a>
          <form class="search" role="search" action="/docs/search" autocomplete="off">
            <input type="search" name="q" value="${asked}" placeholder="Search the docs" aria-label="Search the docs" />
          </form>
          <a class="to-menu" href="#menu">Menu</a>
          <a class="to-app" href="/app">App</a>
        </header>
        <main id="content" tabindex="-1" data-origin="http://127.0.0.1:4242">${content}</main>
        <nav id="menu" aria-label="Docs">
          <ul>
            ${link('/docs', 'Start here')}${link('/v1/openapi.json', 'openapi.json')}
          </ul>
          ${guideLists}
          <h2>Reference</h2>
          <ul>
            ${areas.map((area) => [
              link(areaPath(area), area.title),
              within(area) &&
                html`<li>
                  <ul>
                    ${list([area]).map((one) => link(operationPath(one), one.endpoint.summary.replaceAll('`', '')))}
                  </ul>
                </li>`,
            ])}
          </ul>
        </nav>
      </body>
    </html> `.text
}
