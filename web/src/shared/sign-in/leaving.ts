const NAME = 'ukiyo.leaving'

/** Session state kept in this tab during the redirect to the identity provider. Other browsers don't have it. */
export interface Leaving {
  secret: string
  wish: 'sign-in' | 'link'
  next: string
}

export function leaveFor({ url, secret }: { url: string; secret: string }, more: Omit<Leaving, 'secret'>): void {
  sessionStorage.setItem(NAME, JSON.stringify({ secret, ...more } satisfies Leaving))
  location.assign(url)
}

/** Reads the state once, so that a reload doesn't repeat the sign-in. */
export function takeLeaving(): Leaving | null {
  const stored = sessionStorage.getItem(NAME)
  sessionStorage.removeItem(NAME)
  return stored === null ? null : (JSON.parse(stored) as Leaving)
}
