import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { type Page, readMarkdown } from './markdown.ts'

/** A file of `docs/` as it is served: `docs/guides/media.md` is `/docs/guides/media`. */
export interface Guide extends Page {
  path: string
  group: 'Guides' | 'Running it' | 'How it is made' | null
}

const root = join(import.meta.dirname, '../../../../docs')
const MADE = ['architecture', 'reliability', 'long-runs']

/** Every Markdown file of `docs/`, and the pictures that they show; none where a build came without them. */
export function readGuides(): { guides: Guide[]; pictures: ReadonlyMap<string, string> } {
  const names = existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : []
  const files = names.map((name) => name.replaceAll('\\', '/')).toSorted()
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

const pathOf = (name: string): string => `/docs/${name.replace(/\.md$/, '')}`

function groupOf(name: string): Guide['group'] {
  if (name.startsWith('guides/') || name === 'gateways.md') return 'Guides'
  if (name.includes('/')) return null
  return MADE.includes(name.replace('.md', '')) ? 'How it is made' : 'Running it'
}
