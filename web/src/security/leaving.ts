const NAME = 'ukiyo.leaving'

/** A tab's memory while it is at the identity provider: another browser that is sent back here has none. */
export interface Leaving {
  secret: string
  wish: 'sign-in' | 'link'
  /** The path of the app to go to afterwards. */
  next: string
}

export function leaveFor({ url, secret }: { url: string; secret: string }, more: Omit<Leaving, 'secret'>): void {
  sessionStorage.setItem(NAME, JSON.stringify({ secret, ...more } satisfies Leaving))
  location.assign(url)
}

/** Takes the memory once: a reload finds nothing. */
export function takeLeaving(): Leaving | null {
  const kept = sessionStorage.getItem(NAME)
  sessionStorage.removeItem(NAME)
  return kept === null ? null : (JSON.parse(kept) as Leaving)
}
