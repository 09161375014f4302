import robotsParser from 'robots-parser'
import type { Outbound } from '#packages/http-client/outbound.ts'
import { RetrieveFailed, retrieve } from '#packages/http-client/retrieve.ts'

export const AGENT = 'UkiyoFetch'
export const USER_AGENT = `Mozilla/5.0 (compatible; ${AGENT}/1.0; fetches at a user's request)`

const KEPT_MS = 3_600_000
/** Retries sooner after a server error. */
const TROUBLE_MS = 60_000
const MAX_ORIGINS = 1_000
/** RFC 9309, 2.5: at least 500 KiB must be read. */
const MAX_BYTES = 512 << 10
const TIMEOUT_MS = 8_000

/** The package's types describe a default export inside its module, but Node imports the function itself. */
const parse = robotsParser as unknown as (
  url: string,
  text: string,
) => { isAllowed(url: string, agent: string): boolean | undefined }

type Rules = { allows(url: string): boolean; until: number }

/** Checks robots.txt (RFC 9309). Rules are cached per origin for an hour in this process. */
export function createRobots(outbound: Outbound, now: () => number = () => performance.now()) {
  const known = new Map<string, Promise<Rules>>()

  async function load(origin: string): Promise<Rules> {
    const url = new URL('/robots.txt', origin)
    try {
      const { status, bytes } = await retrieve(outbound, {
        url,
        headers: ['user-agent', USER_AGENT],
        mostBytes: MAX_BYTES,
        timeoutMs: TIMEOUT_MS,
        hops: 5,
        credential: '',
        // Rules are shared by all callers, and nothing else uses these connections.
        party: 'robots.txt',
      })
      // 2.3.1.3: no file means no rules; 2.3.1.4: a server error blocks the site for now.
      if (status >= 500) return { allows: () => false, until: now() + TROUBLE_MS }
      if (status >= 400) return { allows: () => true, until: now() + KEPT_MS }
      const robots = parse(url.href, bytes.toString())
      return { allows: (page) => robots.isAllowed(page, AGENT) !== false, until: now() + KEPT_MS }
    } catch (error) {
      // An oversized file is still parsed up to the limit, and a lost redirect counts as no file (2.3.1.2).
      if (error instanceof RetrieveFailed && error.why === 'lost') return { allows: () => true, until: now() + KEPT_MS }
      known.delete(origin)
      throw error
    }
  }

  return {
    async allows(url: URL, signal: AbortSignal): Promise<boolean> {
      const { origin } = url
      let rules = await unlessLeft(known.get(origin), signal)
      if (rules === undefined || rules.until < now()) {
        if (known.size >= MAX_ORIGINS) known.delete(known.keys().next().value!)
        known.delete(origin)
        const loading = load(origin)
        known.set(origin, loading)
        rules = await unlessLeft(loading, signal)
      }
      return rules.allows(url.href)
    },
  }
}
/** Rules are shared, so loading continues after a caller disconnects; only its wait ends. */
async function unlessLeft<T>(loading: T | Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const left = Promise.withResolvers<never>()
  const leave = () => left.reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([loading, left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

export type Robots = ReturnType<typeof createRobots>
