const NAME = 'ukiyo.invitation'

/** The token where the browser keeps nothing: it lasts as long as the page. */
let inMemory: string | null = null

/**
 * The token of an invitation stands behind the `#` of its link, which browsers send to nobody. It is taken out of the
 * address before anything else runs, and kept in this tab while one signs in or makes an account.
 */
export function takeToken(): void {
  const token = /^#token=([\w-]{1,200})$/.exec(location.hash)?.[1]
  if (token === undefined || !location.pathname.endsWith('/invitations')) return
  history.replaceState(history.state, '', location.pathname)
  inMemory = token
  try {
    sessionStorage.setItem(NAME, token)
  } catch {
    // The memory has it.
  }
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
  } catch {
    // Nothing was kept.
  }
}
