import { MutationCache, type Query, QueryCache, QueryClient } from '@tanstack/react-query'
import { contracts } from '#modules/contracts.ts'
import { ApiError, createClient } from '#interfaces/client.ts'

/**
 * The server's own client, by the session's cookie: what it answers is typed by the contracts. In the browser they are a
 * table of routes, which the build makes of them (web/contract-routes.ts).
 */
export const uk = createClient(contracts, { origin: location.origin })
/** The same by a key, which reaches what it reaches. */
export const ukWith = (key: string): typeof uk => createClient(contracts, { origin: location.origin, key })

type Area = typeof uk
type Row<T> = T extends (...args: never[]) => Promise<{ rows: (infer R)[] }> ? R : never
type One<T> = T extends (...args: never[]) => Promise<infer R> ? R : never
type Given<T> = T extends (input: infer I, ...rest: never[]) => unknown ? NonNullable<I> : never

export type Account = One<Area['me']['get']>
export type Session = Row<Area['auth']['sessions']>
export type ApiKey = Row<Area['api_keys']['list']>
export type NewApiKey = One<Area['api_keys']['create']>
export type KeyDraft = Given<Area['api_keys']['create']>
export type Workspace = Row<Area['workspaces']['list']>
export type Provider = Row<Area['ai_gateway']['providers']>
export type Endpoint = Row<Area['ai_gateway']['list']>
export type EndpointDraft = Given<Area['ai_gateway']['create']>
export type Preset = Row<Area['ai_gateway']['presets']>
export type Tested = One<Area['ai_gateway']['test']>
export type Model = One<Area['models']['get']>

/** Every row of a list, page by page; the lists of the app are short, and the bound keeps a long one from hanging it. */
export async function everyRow<T>(listing: Promise<{ all: AsyncIterable<T> }>, most = 1_000): Promise<T[]> {
  const rows: T[] = []
  for await (const row of (await listing).all) {
    rows.push(row)
    if (rows.length >= most) break
  }
  return rows
}

export const refusal = (error: unknown): ApiError | null => (error instanceof ApiError ? error : null)
export const isSignedOut = (error: unknown): boolean => refusal(error)?.status === 401

/** A fault that is in words for people already. */
export class Said extends Error {}

/** Errors that some part of the page shows, with a way to retry where that may help. */
const shown = new WeakSet<object>()
const isShown = (error: unknown): boolean => typeof error === 'object' && error !== null && shown.has(error)

/** Whether the same call may succeed later: the server was away, busy or broken. */
const isPassing = (error: unknown): boolean => {
  const status = refusal(error)?.status ?? 503
  return status >= 500 || status === 429
}

/** The answer, or null if the server refuses it (no access, not found, wrong state). Errors that may pass are thrown. */
export const unlessRefused = <T>(answer: Promise<T>): Promise<T | null> =>
  answer.catch((error: unknown) => {
    if (isPassing(error)) throw error
    return null
  })

/**
 * A sentence for people: what the server said, or that it could not be reached. `retried`: a button beside it retries the
 * query. Without one, the page's bar offers that for errors that may pass.
 */
export function sayError(error: unknown, retried = false): string {
  if (typeof error === 'object' && error !== null && (retried || !isPassing(error))) shown.add(error)
  if (error instanceof Said) return error.message
  const refused = refusal(error)
  if (!refused) return 'The server can’t be reached. Check your connection and try again.'
  // The request id is there to quote to the person who runs the server; its log knows the rest.
  if (refused.status >= 500 && refused.requestId) return `${refused.message} Request ${refused.requestId}.`
  const wait = refused.retryAfterSeconds
  return refused.status === 429 && wait ? `${refused.message} Try again in ${wait} s.` : refused.message
}

/** The session ended meanwhile, elsewhere or by time: the shell shows the door. A wrong password is not such an end. */
const noticeSignOut = (error: unknown): void => {
  if (isSignedOut(error) && refusal(error)?.code !== 'invalid_credentials') queryClient.setQueryData(['session'], null)
}

/** The least time between two readings of what could not be read. */
const RECOVERY_MS = 5_000
let recoveredAt = -Infinity
/** Reads again what failed while the server didn't answer. */
function noticeRecovery(): void {
  const now = performance.now()
  if (now - recoveredAt < RECOVERY_MS) return
  const failed = queryClient.getQueryCache().findAll({ type: 'active', predicate: isUnread })
  if (!failed.some(({ state }) => (refusal(state.error)?.status ?? 503) >= 500)) return
  recoveredAt = now
  void readFailedAgain()
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeSignOut, onSuccess: noticeRecovery }),
  mutationCache: new MutationCache({ onError: noticeSignOut }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Requests fail at once when offline. Paused ones would show "loading" without an end.
      networkMode: 'always',
      refetchOnReconnect: true,
      // A refused call stays refused; a broken one may heal.
      retry: (count, error) => count < 2 && (refusal(error)?.status ?? 500) >= 500,
    },
    mutations: { networkMode: 'always' },
  },
})

const isUnread = ({ state }: Query): boolean => state.status === 'error' && state.data === undefined

/** Retries every failed query of this page. */
export const readFailedAgain = (): Promise<void> => queryClient.refetchQueries({ type: 'active', predicate: isUnread })

/**
 * An error of a failed query on this page that no part of the page shows. Refusals (no access, not found, wrong state) are left
 * to the part that asked.
 */
export const unshownError = (): unknown =>
  queryClient
    .getQueryCache()
    .findAll({ type: 'active', predicate: isUnread })
    .map(({ state }) => state.error as unknown)
    .find((error) => !isShown(error) && ![401, 403, 404, 409].includes(refusal(error)?.status ?? 0)) ?? null
