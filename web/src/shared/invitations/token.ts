const NAME = 'ukiyo.invitation'

/** Fallback without browser storage: lasts as long as the page. */
let inMemory: string | null = null

/**
 * Invitation tokens are in the fragment of the link, which browsers don't send to servers. The token is removed from
 * the address before anything else runs, and kept in this tab during sign-in or sign-up.
 */
export function takeToken(): void {
  const token = /^#token=([\w-]{1,200})$/.exec(location.hash)?.[1]
  if (token === undefined || !location.pathname.endsWith('/invitations')) return
  history.replaceState(history.state, '', location.pathname)
  inMemory = token
  try {
    sessionStorage.setItem(NAME, token)
  } catch {}
}

export function keptToken(): string | null {
  try {
    return inMemory ?? sessionStorage.getItem(NAME)
  } catch {
    return inMemory
  }
}

export function dropToken(): void {
  inMemory = null
  try {
    sessionStorage.removeItem(NAME)
  } catch {}
}
