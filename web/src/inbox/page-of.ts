/** The target of a notification: an app path below `/app`, another address, or null. */
export function pageOf({ action_url }: { action_url: string | null }): { page: string } | { href: string } | null {
  if (action_url === null) return null
  const page = /^\/app(\/[^\\]*)$/.exec(action_url)?.[1]
  return page === undefined ? { href: action_url } : { page }
}
