const own = /^\/(?![/\\])/
/** A base URL that doesn't exist, to detect addresses that leave this server. */
const NOWHERE = 'http://own.invalid'

/** The target of a link: the web, an email address, or a page of this server. Null: the link is shown as text. */
export function targetOf(href: string): { href: string; host: string | null } | null {
  const trimmed = href.trim()
  if (trimmed.startsWith('#')) return null
  if (own.test(trimmed)) {
    // Parsed like in a browser, which removes tabs and line ends and resolves dots: `/` and `/evil.example` on two
    // lines would become one address.
    const page = URL.parse(trimmed, NOWHERE)
    if (page?.origin !== NOWHERE) return null
    const path = page.pathname + page.search + page.hash
    return own.test(path) ? { href: path, host: null } : null
  }
  let url: URL
  try {
    url = new URL(trimmed)
  } catch {
    return null
  }
  if (url.protocol === 'mailto:') return { href: url.href, host: null }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null
  return { href: url.href, host: url.host }
}

export function isMisleading(text: string, host: string | null): boolean {
  const shownHost = /^(?:https?:\/\/)?([\w-]+(?:\.[\w-]+)+)(?:[/:?#]|$)/i.exec(text.trim())?.[1]?.toLowerCase()
  return (
    shownHost !== undefined && host !== null && shownHost !== host.replace(/:\d+$/, '') && `www.${shownHost}` !== host
  )
}

/** The end of a bare URL: a space, or non-ASCII punctuation such as `。`. */
export function bareUrlEnd(text: string): number {
  const end = text.search(/[\s<]|(?![\p{ASCII}\u200c\u200d])[\p{P}\p{S}\p{Z}\p{C}]/u)
  return end < 0 ? text.length : end
}
