import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { contracts } from '#modules/contracts.ts'
import { createClient } from '#interfaces/client.ts'
import { isPassing, refusal } from '../ui/calls/errors.ts'
import { isUnread, readFailedAgain } from '../ui/calls/failed-queries.ts'

/**
 * The typed client, authenticated by the session cookie. In the browser, its route table is generated at build time
 * (web/contract-routes.ts).
 */
export const uk = createClient(contracts, { origin: location.origin })
export const ukWith = (key: string): typeof uk => createClient(contracts, { origin: location.origin, key })

type Area = typeof uk
type Row<T> = T extends (...args: never[]) => Promise<{ rows: (infer R)[] }> ? R : never
type One<T> = T extends (...args: never[]) => Promise<infer R> ? R : never
type Input<T> = T extends (input: infer I, ...rest: never[]) => unknown ? NonNullable<I> : never

export type Account = One<Area['me']['get']>
export type Session = Row<Area['auth']['sessions']>
export type ApiKey = Row<Area['api_keys']['list']>
export type NewApiKey = One<Area['api_keys']['create']>
export type KeyDraft = Input<Area['api_keys']['create']>
export type Workspace = Row<Area['workspaces']['list']>
export type Provider = Row<Area['ai_gateway']['providers']>
export type Endpoint = Row<Area['ai_gateway']['list']>
export type EndpointDraft = Input<Area['ai_gateway']['create']>
export type Preset = Row<Area['ai_gateway']['presets']>
export type ProviderTest = One<Area['ai_gateway']['test']>
export type Model = One<Area['models']['get']>

/** Every row of a list. The page limit keeps a long list from blocking the app. */
export async function everyRow<T>(listing: Promise<{ all: AsyncIterable<T> }>, most = 1_000): Promise<T[]> {
  const rows: T[] = []
  for await (const row of (await listing).all) {
    rows.push(row)
    if (rows.length >= most) break
  }
  return rows
}

export const isSignedOut = (error: unknown): boolean => refusal(error)?.status === 401

/** The answer, or null if the server refuses it (no access, not found, wrong state). Errors that may pass are thrown. */
export const unlessRefused = <T>(answer: Promise<T>): Promise<T | null> =>
  answer.catch((error: unknown) => {
    if (isPassing(error)) throw error
    return null
  })

/** Whether the session ended (revoked or expired). A wrong password also answers 401, but isn't a sign-out. */
const noticeSignOut = (error: unknown): void => {
  if (isSignedOut(error) && refusal(error)?.code !== 'invalid_credentials') queryClient.setQueryData(['session'], null)
}

/** The minimum delay between two retries of failed queries. */
const RECOVERY_MS = 5_000
let recoveredAt = -Infinity
/** Retries queries that failed while the server was unreachable. */
function noticeRecovery(): void {
  const now = performance.now()
  if (now - recoveredAt < RECOVERY_MS) return
  const failed = queryClient.getQueryCache().findAll({ type: 'active', predicate: isUnread })
  if (!failed.some(({ state }) => (refusal(state.error)?.status ?? 503) >= 500)) return
  recoveredAt = now
  void readFailedAgain(queryClient)
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: noticeSignOut, onSuccess: noticeRecovery }),
  mutationCache: new MutationCache({ onError: noticeSignOut }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Requests fail at once when offline. Paused ones would show "loading" forever.
      networkMode: 'always',
      refetchOnReconnect: true,
      // A rejected call stays rejected; a server error may be temporary.
      retry: (count, error) => count < 2 && (refusal(error)?.status ?? 500) >= 500,
    },
    mutations: { networkMode: 'always' },
  },
})
