import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { type Page, readMarkdown } from './markdown.ts'

/** The lists of pages in the navigation, in order. */
export const groups = ['Guides', 'Computers', 'Features', 'Operating', 'Internals'] as const

/** A file of `docs/`: `guides/media.md` is served at `/docs/guides/media`, `operating/README.md` at `/docs/operating`. */
export interface Guide extends Page {
  path: string
  /** Null for pages that the navigation doesn't list, such as decisions. */
  group: (typeof groups)[number] | null
}

const root = join(import.meta.dirname, '../../../../docs')
const INTERNALS = ['architecture.md', 'reliability.md', 'long-runs.md']
const FEATURES = ['chats.md', 'drive.md', 'models-and-prices.md', 'providers.md', 'routing.md']

/** All Markdown files in `docs/` and their images; none in a build without them. */
export function readGuides(): { guides: Guide[]; pictures: ReadonlyMap<string, string> } {
  const names = existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : []
  // A folder's own page comes first.
  const files = names.map((name) => name.replaceAll('\\', '/')).toSorted((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1))
  const pages = new Set(files.filter((name) => name.endsWith('.md')))
  const pictures = new Map(
    files.filter((name) => name.endsWith('.png')).map((name) => [`/docs/${name}`, join(root, name)]),
  )
  const guides = [...pages].map((name): Guide => {
    const linkOf = (href: string): string | null => {
      if (/^(https?:|#)/.test(href)) return href
      const [to = '', anchor] = href.split('#')
      const target = posix.normalize(posix.join(dirname(name), to))
      if (pages.has(target)) return pathOf(target) + (anchor === undefined ? '' : `#${anchor}`)
      return pictures.has(`/docs/${target}`) ? `/docs/${target}` : null
    }
    return { ...readMarkdown(readFileSync(join(root, name), 'utf8'), linkOf), path: pathOf(name), group: groupOf(name) }
  })
  return { guides, pictures }
}

const pathOf = (name: string): string => `/docs/${name.replace(/(^|\/)README\.md$|\.md$/, '')}`

function groupOf(name: string): Guide['group'] {
  if (name.startsWith('guides/computers/')) return 'Computers'
  if (name.startsWith('operating/')) return 'Operating'
  if (FEATURES.includes(name)) return 'Features'
  if (INTERNALS.includes(name)) return 'Internals'
  return name.startsWith('guides/') || !name.includes('/') ? 'Guides' : null
}
