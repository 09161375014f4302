const own = /^\/(?![/\\])/
/** A base that is no site: an address that is read against it and leaves it leads elsewhere. */
const NOWHERE = 'http://own.invalid'

/**
 * The target of a link: the web, a mail address, a page of this server. Null: it leads nowhere, and is shown as text.
 */
export function targetOf(href: string): { href: string; host: string | null } | null {
  const trimmed = href.trim()
  if (trimmed.startsWith('#')) return null
  if (own.test(trimmed)) {
    // The address is read as a browser reads it: without its tabs and line ends, by which `/` and `/evil.example`
    // become one, and with its dots walked.
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

/** Tells whether the text of a link names another host than it leads to. */
export function isMisleading(text: string, host: string | null): boolean {
  const named = /^(?:https?:\/\/)?([\w-]+(?:\.[\w-]+)+)(?:[/:?#]|$)/i.exec(text.trim())?.[1]?.toLowerCase()
  return named !== undefined && host !== null && named !== host.replace(/:\d+$/, '') && `www.${named}` !== host
}

/** Where an address that is written without marks ends: at a space, or at punctuation outside ASCII, such as `。`. */
export function bareUrlEnd(text: string): number {
  const end = text.search(/[\s<]|(?![\p{ASCII}\u200c\u200d])[\p{P}\p{S}\p{Z}\p{C}]/u)
  return end < 0 ? text.length : end
}
