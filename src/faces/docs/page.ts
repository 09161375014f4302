import type { Area } from '#kernel/contract.ts'
import { type Html, html } from './html.ts'
import { kebab } from '../words.ts'

export const pathOf = ({ name }: Area): string => `/docs/${kebab(name)}`

/** The frame of every page. */
export function page(title: string, here: string, areas: readonly Area[], content: Html): string {
  const link = (path: string, text: string) =>
    html`<li><a href="${path}" ${path === here && html` aria-current="page"`}>${text}</a></li>`
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="stylesheet" href="/docs/style.css" />
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <nav class="areas" aria-label="Docs">
          <a class="name" href="/docs">Ukiyo</a>
          <ul>
            ${link('/docs', 'Start here')}${areas.map((area) => link(pathOf(area), area.title))}
          </ul>
          <ul>
            ${link('/v1/openapi.json', 'openapi.json')}
          </ul>
        </nav>
        <main id="content" tabindex="-1">${content}</main>
      </body>
    </html> `.text
}
