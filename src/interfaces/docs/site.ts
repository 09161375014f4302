import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Area } from '#core/contract.ts'
import { list } from '#core/registry.ts'
import { type Document, openapi } from '../openapi/openapi.ts'
import { wordsOf } from '../words.ts'
import { areaPage } from './area.ts'
import { readGuides } from './guides/guides.ts'
import { homePage } from './home.ts'
import { html, inline } from './html.ts'
import { operationPage } from './operation.ts'
import { type Contents, areaPath, operationPath, page } from './page.ts'
import { type Entry, type Search, createSearch } from './search.ts'
import { style } from './style.ts'

export interface Served {
  type: string
  /** Shared bytes: a string would be encoded per reader and kept until the slowest one has read it. */
  body: Buffer
  etag: string
}

export interface Site {
  /** The page at a path for a reader's origin; null if there is none. */
  at(path: string, query: URLSearchParams, origin: string): Served | { movedTo: string } | null
  missing(): string
}

/** Placeholder address in guides and the description, replaced by the reader's origin. */
const WRITTEN = 'http://127.0.0.1:4242'
const MAX_KEPT_BYTES = 64 << 20

/** Serves the pages below `/docs`. Each page and the search index are built on first request. */
export function createSite(allAreas: readonly Area[], version: string): Site {
  const areas = publicAreas(allAreas)
  const { guides, pictures } = readGuides()
  const contents: Contents = { areas, guides }
  let known: Document | undefined
  const document = (): Document => (known ??= openapi(allAreas, { origin: WRITTEN, version }))
  let index: Search | undefined
  const search = (query: string): ReturnType<Search> =>
    (index ??= createSearch([...entriesOf(areas, document()), ...guideEntries(guides)]))(query)
  const made = new Map<string, Served>()
  let keptBytes = 0
  const made404 = page(
    'Not found · Ukiyo docs',
    '',
    contents,
    html`<h1>Page not found</h1>
      <p class="lead">
        The page was moved, or the address is wrong. <a href="/docs">Start here</a>, search, or choose a page from the
        list.
      </p>`,
  )

  /** One server can have many names, so the number of cached origins is bounded. */
  function keep(key: string, fresh: Served): Served {
    keptBytes += fresh.body.length
    if (keptBytes > MAX_KEPT_BYTES) {
      made.clear()
      keptBytes = fresh.body.length
    }
    made.set(key, fresh)
    return fresh
  }

  const write = (path: string): { type: string; text: string } | null => {
    const framed = (title: string, content: Parameters<typeof page>[3]) => ({
      type: 'text/html',
      text: page(`${title} · Ukiyo docs`, path, contents, content),
    })
    if (path === '/v1/openapi.json') return { type: 'application/json', text: JSON.stringify(document()) }
    if (path === '/docs/style.css') return { type: 'text/css', text: style }
    if (path === '/docs/docs.js')
      return { type: 'text/javascript', text: readFileSync(join(import.meta.dirname, 'browser/docs.js'), 'utf8') }
    if (path === '/docs/try-it.js')
      return { type: 'text/javascript', text: readFileSync(join(import.meta.dirname, 'browser/try-it.js'), 'utf8') }
    if (path === '/docs') return framed('Start here', homePage(areas, guides, document()))
    const area = areas.find((one) => path === areaPath(one))
    if (area) return framed(area.title, areaPage(area))
    const listed = path.startsWith('/docs/api/') && list(areas).find((one) => path === operationPath(one))
    if (listed) return framed(listed.endpoint.summary.replaceAll('`', ''), operationPage(listed, document()))
    const guide = guides.find((one) => path === one.path)
    return guide ? framed(guide.title, html`<article>${guide.content}</article>`) : null
  }

  return {
    missing: () => made404,
    at(path, query, origin) {
      if (path === '/docs/search') return searchPage(query.get('q') ?? '', contents, search)
      if (path === '/docs/search.json') return served('application/json', JSON.stringify(search(query.get('q') ?? '')))
      const picture = pictures.get(path)
      const key = picture === undefined ? `${origin} ${path}` : path
      const kept = made.get(key)
      if (kept) return kept
      if (picture !== undefined) return keep(key, served('image/png', readFileSync(picture)))
      const written = write(path)
      if (written === null) {
        const moved = areas.find((one) => path === areaPath(one).replace('/docs/api/', '/docs/'))
        return moved ? { movedTo: areaPath(moved) } : null
      }
      return keep(key, served(written.type, written.text.replaceAll(WRITTEN, origin)))
    },
  }
}

function served(type: string, content: string | Buffer): Served {
  const body = Buffer.from(content)
  return {
    type: type.startsWith('image/') ? type : `${type}; charset=utf-8`,
    body,
    etag: `"${hash('sha1', body, 'base64url')}"`,
  }
}

function searchPage(asked: string, contents: Contents, search: Search): Served {
  const found = search(asked)
  const content = html`<h1>Search</h1>
    <p class="lead">
      ${asked === '' ? 'Enter words, a path or a command.' : found.length === 0 ? `No results for “${asked}”` : `“${asked}”`}
    </p>
    <ul class="found">
      ${found.map(
        ({ path, title, place, excerpt }) =>
          html`<li>
            <a href="${path}"><strong>${title}</strong> <small>${place}</small><span>${excerpt}</span></a>
          </li>`,
      )}
    </ul>`
  return served('text/html', page('Search · Ukiyo docs', '/docs/search', contents, content, asked))
}

function entriesOf(areas: readonly Area[], { paths }: Document): Entry[] {
  const ofAreas = areas.map((area) => ({
    path: areaPath(area),
    title: area.title,
    place: 'Reference',
    names: area.name,
    text: inline(area.summary).text.replace(/<[^>]+>/g, ''),
  }))
  const ofEndpoints = list(areas).map((listed) => {
    const { area, verb, endpoint } = listed
    const { method, path, summary, query = {}, body = {} } = endpoint
    const { description } = paths[path.replace(/:(\w+)/g, '{$1}')]![method.toLowerCase()]!
    return {
      path: operationPath(listed),
      title: summary.replaceAll('`', ''),
      place: area.title,
      names: `${method} ${path} uk ${wordsOf(listed).join(' ')} ${area.name}_${verb}`,
      text: `${description.replaceAll('`', '')} ${Object.keys({ ...query, ...body }).join(' ')}`,
    }
  })
  return [...ofAreas, ...ofEndpoints]
}

/** Areas without internal `/app/` routes; areas with no others are left out. */
const publicAreas = (areas: readonly Area[]): Area[] =>
  areas.flatMap((area) => {
    const endpoints = Object.entries(area.endpoints).filter(([, { path }]) => !path.startsWith('/app/'))
    return endpoints.length > 0 ? [{ ...area, endpoints: Object.fromEntries(endpoints) }] : []
  })

/** Pages for users. Decisions and internals describe the code, so the search excludes them. */
const guideEntries = (guides: ReturnType<typeof readGuides>['guides']): Entry[] =>
  guides.flatMap(({ path, title, parts, group }) =>
    (group === null || group === 'Internals' ? [] : parts).map((part, i) => ({
      path: i === 0 ? path : `${path}#${part.id}`,
      title: part.title,
      place: i === 0 ? group! : title,
      names: i === 0 ? '' : title,
      text: part.text,
    })),
  )
