import { linkTo } from './documents.ts'
import { type Exported, isObject, textOr } from './conversation.ts'

/**
 * Turns ChatGPT's citation marks into links. `metadata.content_references` resolves each mark (U+E200 … U+E201); older
 * answers have marks such as `【3†source】` and `metadata.citations`. The format is known from people who read exports.
 */
export function withLinks(text: string, metadata: Record<string, unknown>, exported: Exported): string {
  const references = listIn(metadata.content_references)
  const byMark = Map.groupBy(references, ({ matched_text }) => textOr(matched_text, ''))
  const counts = new Map<string, number>()
  const linked = new Set<string>()
  const referenceOf = (mark: string): Record<string, unknown> | null => {
    const those = byMark.get(mark) ?? []
    const turn = counts.get(mark) ?? 0
    counts.set(mark, turn + 1)
    // Equal marks have their own sources, in order. A single reference serves them all.
    return those[Math.min(turn, those.length - 1)] ?? null
  }
  const put = (space: string, links: readonly string[]): string => {
    for (const link of links) linked.add(addressOf(link))
    return links.length === 0 ? '' : `${space === '' ? ' ' : space}(${links.join(', ')})`
  }
  const written = text
    .replaceAll(MARK, (_, space: string, mark: string) => {
      const reference = referenceOf(mark)
      const links = reference === null ? [] : linksOf(reference)
      if (links.length > 0) return put(space, links)
      const words = (reference === null ? null : wordsOf(reference)) ?? wordsIn(mark)
      if (words !== null) return space + words
      exported.leave(isPicture(reference, mark) ? 'images from web searches' : 'citations without a URL')
      return ''
    })
    .replaceAll(OLD_MARK, (_, space: string, mark: string, number: string, at: number) => {
      const reference = referenceOf(mark)
      const links = reference === null ? oldLinksOf(metadata, { at: at + space.length, number }) : linksOf(reference)
      if (links.length === 0) exported.leave('citations without a URL')
      return put(space, links)
    })
    .replaceAll(LEFT_OVER, '')
  return written + footnote(references, linked)
}

const MARK = /([ \t]?)(\ue200[^\ue200\ue201]{0,20000}\ue201)/g
const OLD_MARK = /([ \t]?)(【(\d{1,6})(?::\d{1,6})?†[^【】\n]{0,200}】)/g
/** A truncated mark, and the signs around highlighted words. */
const LEFT_OVER = /\ue200\w*(?:\ue202\w*)*|[\ue200-\ue20f]/g

const listIn = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isObject) : [])
const addressOf = (link: string): string => link.slice(link.lastIndexOf('](') + 2, -1)

/** The distinct pages of a reference. */
function linksOf({ items, url, title, safe_urls }: Record<string, unknown>): string[] {
  const links = new Map<string, string>()
  const add = (address: unknown, words: unknown): void => {
    const link = linkTo(address, words)
    if (link !== null && !links.has(addressOf(link))) links.set(addressOf(link), link)
  }
  for (const item of listIn(items)) {
    add(item.url, item.title)
    for (const site of listIn(item.supporting_websites)) add(site.url, site.title)
  }
  add(url, title)
  if (links.size === 0 && Array.isArray(safe_urls)) for (const one of safe_urls) add(one, null)
  return [...links.values()]
}

/** Text of a reference without a URL: a product, a place, a file. */
function wordsOf({ alt, name, type }: Record<string, unknown>): string | null {
  const words = textOr(alt, '')
    .replaceAll(/\[([^\]]*)\]\(\)/g, '$1')
    .trim()
  if (words !== '') return words
  const file = type === 'file' ? textOr(name, '').trim() : ''
  return file === '' ? null : `(${file})`
}

/** Text in the mark itself: `url` has a name and a URL, `entity` a list whose second item is its name. */
function wordsIn(mark: string): string | null {
  const [kind, ...rest] = mark.slice(1, -1).split('\ue202')
  if (kind === 'url') return linkTo(rest[1], rest[0]) ?? (rest[0]?.trim() || null)
  if (kind !== 'entity') return null
  try {
    const value: unknown = JSON.parse(rest[0] ?? '')
    return Array.isArray(value) && typeof value[1] === 'string' && value[1].trim() !== '' ? value[1] : null
  } catch {
    return null
  }
}

const isPicture = (reference: Record<string, unknown> | null, mark: string): boolean =>
  textOr(reference?.type, '').startsWith('image') || /^\ue200(?:i|image\w*)\ue202/.test(mark)

function oldLinksOf(metadata: Record<string, unknown>, { at, number }: { at: number; number: string }): string[] {
  const citations = listIn(metadata.citations)
  const source =
    citations.find(({ start_ix }) => start_ix === at) ??
    citations.find(
      ({ metadata: about }) =>
        isObject(about) && isObject(about.extra) && String(about.extra.cited_message_idx) === number,
    )
  const about = isObject(source?.metadata) ? source.metadata : {}
  const link = linkTo(about.url, about.title)
  return link === null ? [] : [link]
}

/** Sources below the answer that aren't linked in it. */
function footnote(references: readonly Record<string, unknown>[], linked: Set<string>): string {
  const lines: string[] = []
  for (const { sources } of references.filter(({ type }) => type === 'sources_footnote'))
    for (const { url, title, attribution } of listIn(sources)) {
      const link = linkTo(url, title ?? attribution)
      if (link === null || linked.has(addressOf(link))) continue
      linked.add(addressOf(link))
      lines.push(`- ${link}`)
    }
  return lines.length === 0 ? '' : `\n\nSources:\n\n${lines.join('\n')}`
}
