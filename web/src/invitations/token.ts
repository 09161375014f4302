const NAME = 'ukiyo.invitation'

/**
 * The token of an invitation stands behind the `#` of the link in its mail, which browsers send to nobody. It is taken
 * out of the address before anything else runs, and kept in this tab while one signs in or makes an account.
 */
export function takeToken(): void {
  const token = /^#token=([\w-]{1,200})$/.exec(location.hash)?.[1]
  if (token === undefined || !location.pathname.endsWith('/invitations')) return
  history.replaceState(history.state, '', location.pathname)
  try {
    sessionStorage.setItem(NAME, token)
  } catch {
    // Nothing can be kept in this browser: the token can be pasted.
  }
}

export function keptToken(): string | null {
  try {
    return sessionStorage.getItem(NAME)
  } catch {
    return null
  }
}

export function dropToken(): void {
  try {
    sessionStorage.removeItem(NAME)
  } catch {
    // Nothing was kept.
  }
}
