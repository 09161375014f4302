/** Documents shown next to a chat (canvas, artifacts), as Markdown for their message. Pure. */

export interface Document {
  title: string
  /** Code language; null for Markdown. */
  language: string | null
  content: string
}

export function markdownOf({ title, language, content }: Document): string {
  const heading = title.trim() === '' ? '' : `**${title.trim().replaceAll(/\s+/g, ' ')}**\n\n`
  return heading + (language === null ? content.trim() : fenced(content, language))
}

/** Fences the code with more backticks than it contains. */
export function fenced(code: string, language: string): string {
  const longest = (code.match(/`+/g) ?? []).reduce((length, run) => Math.max(length, run.length), 2)
  const fence = '`'.repeat(longest + 1)
  const name = /^[\w+#.-]{1,40}$/.test(language) ? language : ''
  return `${fence}${name}\n${code.replace(/\n$/, '')}\n${fence}`
}

export const quoted = (text: string): string =>
  text
    .trim()
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n')

/** Documents at one message, as a linked list: its own change before its parent's. */
export interface Versions {
  key: string
  document: Document
  before: Versions | null
}

export function versionOf(versions: Versions | null, key: string | null): Versions | null {
  for (let at = versions; at !== null; at = at.before) if (key === null || at.key === key) return at
  return null
}

/** A Markdown link; null unless the URL is http(s). */
export function linkTo(url: unknown, title: unknown): string | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null
  const { href, hostname, protocol } = new URL(url)
  if (protocol !== 'https:' && protocol !== 'http:') return null
  const words = typeof title === 'string' ? title.replaceAll(/\s+/g, ' ').trim() : ''
  const shown = (words === '' ? hostname : words).replaceAll(/[[\]\\]/g, '\\$&')
  return `[${shown}](${href.replaceAll('(', '%28').replaceAll(')', '%29')})`
}
