/** Documents that other programs show beside a chat (canvas, artifacts), as Markdown for the message they came with. Pure. */

export interface Document {
  title: string
  /** The language of its code; null: its content is Markdown. */
  language: string | null
  content: string
}

export function markdownOf({ title, language, content }: Document): string {
  const heading = title.trim() === '' ? '' : `**${title.trim().replaceAll(/\s+/g, ' ')}**\n\n`
  return heading + (language === null ? content.trim() : fenced(content, language))
}

/** Code between fences that are longer than each run of backticks in it. */
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

/** Documents as they are at one message of a chat: each message has its parent's, with its own changes before them. */
export interface Versions {
  key: string
  document: Document
  before: Versions | null
}

/** Null without a document of this key; without a key, the newest. */
export function versionOf(versions: Versions | null, key: string | null): Versions | null {
  for (let at = versions; at !== null; at = at.before) if (key === null || at.key === key) return at
  return null
}

/** A link in Markdown; null where the address is none of the web. */
export function linkTo(url: unknown, title: unknown): string | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null
  const { href, hostname, protocol } = new URL(url)
  if (protocol !== 'https:' && protocol !== 'http:') return null
  const words = typeof title === 'string' ? title.replaceAll(/\s+/g, ' ').trim() : ''
  const shown = (words === '' ? hostname : words).replaceAll(/[[\]\\]/g, '\\$&')
  return `[${shown}](${href.replaceAll('(', '%28').replaceAll(')', '%29')})`
}
