import type pg from 'pg'
import { Refusal } from '#core/errors.ts'
import type { Caller } from './callers.ts'
import { cancelStatement } from './cancel.ts'

/** Every statement's limit, even if its process dies. */
export const STATEMENT_MS = 60_000

interface Checkout {
  caller: Caller | null
  /** A cancel request is outstanding and could hit the next statement. */
  isSpoiled: boolean
  isInTransaction: boolean
  bytes: number
}

const checkouts = new WeakMap<pg.ClientBase, Checkout>()
const transactions = new WeakMap<Caller, number>()
const noteTransaction = (caller: Caller, more: 1 | -1): void =>
  void transactions.set(caller, (transactions.get(caller) ?? 0) + more)

export const isInTransaction = (caller: Caller): boolean => (transactions.get(caller) ?? 0) > 0

type Callback = (error: Error | undefined, result: unknown) => void
type Query = (...args: unknown[]) => unknown

/**
 * Limits statements of reads to `readMs`, cancels them when the caller leaves, and limits each transaction. Works
 * through a transaction pooler: sets nothing for the session and needs no startup parameters.
 */
export function limitStatements(client: pg.ClientBase, readMs: number): void {
  const query = client.query.bind(client) as Query
  const limited: Query = (text, ...rest) => {
    const checkout = checkouts.get(client)
    const isRead = checkout?.caller?.reads === true
    const isBegin = typeof text === 'string' && /^(?:begin|start transaction)\b[^;]*$/.test(text)
    if (isBegin) beginTransaction(checkout)
    const limit = isRead ? readMs : STATEMENT_MS
    // One message can contain two statements.
    const args = [isBegin ? `${text}; set local statement_timeout = ${limit}` : text, ...rest]
    // Ending a transaction is short and must succeed.
    if (!isRead || text === 'commit' || text === 'rollback') return query(...args)
    const watch = watchStatement(client, checkout, readMs)
    const callback = args.at(-1)
    if (typeof callback === 'function') {
      args[args.length - 1] = (error: Error | undefined, result: unknown) =>
        watch.end(error, (fault) => (callback as Callback)(fault, result))
      return query(...args)
    }
    return (query(...args) as Promise<unknown>).then(
      (result) => new Promise((resolve) => watch.end(undefined, () => resolve(result))),
      (error: Error) => new Promise((_, reject) => watch.end(error, reject)),
    )
  }
  client.query = limited as typeof client.query
}

export function noteResult(client: pg.ClientBase, bytes: number): string {
  const checkout = checkouts.get(client)
  if (checkout !== undefined) checkout.bytes += bytes
  return checkout?.caller?.name ?? SERVER
}

export const SERVER = 'the server'

export function checkOut(
  client: pg.ClientBase,
  caller: Caller | null,
): { isReusable(): boolean; readonly bytes: number } {
  const checkout: Checkout = { caller, isSpoiled: false, isInTransaction: false, bytes: 0 }
  checkouts.set(client, checkout)
  return {
    get bytes() {
      return checkout.bytes
    },
    isReusable() {
      checkouts.delete(client)
      if (checkout.isInTransaction) noteTransaction(caller!, -1)
      checkout.isInTransaction = false
      return !checkout.isSpoiled
    },
  }
}

function beginTransaction(checkout: Checkout | undefined): void {
  if (!checkout?.caller || checkout.isInTransaction) return
  checkout.isInTransaction = true
  noteTransaction(checkout.caller, 1)
}

function watchStatement(client: pg.ClientBase, checkout: Checkout, readMs: number) {
  const { signal } = checkout.caller!
  let canceling: Promise<void> | null = null
  let why: unknown = null
  const cancel = (reason: unknown): void => {
    why ??= reason
    canceling ??= cancelStatement(client)
  }
  const leave = (): void => cancel(signal!.reason)
  const timer = setTimeout(() => cancel(tooSlow(readMs)), readMs)
  signal?.addEventListener('abort', leave)
  if (signal?.aborted) leave()
  return {
    end(error: Error | undefined, tell: (fault: Error | undefined) => void): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
      const isCanceled = (error as { code?: string } | undefined)?.code === '57014'
      if (canceling === null) return tell(isCanceled ? tooSlow(readMs) : error)
      if (!isCanceled) checkout.isSpoiled = true
      void canceling.then(() => tell(isCanceled && why instanceof Error ? why : error))
    },
  }
}

const tooSlow = (readMs: number): Refusal =>
  new Refusal('timeout', {
    message: `This query took longer than ${readMs / 1000} seconds. Request less, such as a shorter time span or a single folder.`,
  })
