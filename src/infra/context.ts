import type { CallContext } from '#core/context.ts'
import type { EventTable } from '#core/events.ts'
import { implementWith } from '#core/implement.ts'
import type { Id } from '#core/ids.ts'
import type { Lender, Principal } from '#core/principal.ts'
import type { Budget } from '#core/money.ts'
import type { Config } from '#config'
import type { Blobs } from './blobs/blobs.ts'
import type { Bus } from './bus/bus.ts'
import type { DocumentReader } from './text/documents/reader.ts'
import type { Jobs } from './jobs/jobs.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { Log } from './log.ts'
import type { Media } from '#packages/media-tools/media.ts'
import type { Scanner } from './text/scan/scanner.ts'
import type { Outbound } from '#packages/http-client/outbound.ts'
import type { EmittedEvent } from './outbox/outbox.ts'
import type { Db, Postgres } from './postgres/client.ts'
import type { PictureMaker } from './pictures/maker.ts'
import type { RequestLog } from './request-log/request-log.ts'
import type { Secrets } from './secrets.ts'

/**
 * Stateful services, built once by app.ts and shared by all calls, plus handles `H` of modules and the gateway, such as
 * `Engine<{ hub: Hub }>`.
 */
export type Engine<H = unknown> = Machinery<H> & H

interface Machinery<H> {
  config: Config
  origin(): string
  postgres: Postgres
  secrets: Secrets
  bus: Bus
  jobs: Jobs
  blobs: Blobs
  ledger: Ledger
  requestLog: RequestLog
  log: Log
  /** HTTP client for user-provided addresses: public ones and those in `UK_FETCH_ALLOW`. */
  outside: Outbound
  headMs: number
  documents: DocumentReader
  pictures: PictureMaker
  media: Media
  scanner: Scanner
  events: EventTable
  processId: Id
  versions: { newest: string; check(date: string, param?: string): string }
  /**
   * Call after a commit that changed permissions. Resolves when they apply in this process; others follow within a
   * second.
   */
  rights: {
    refresh(): Promise<void>
    renew(principal: Principal): Promise<Principal>
    /** Other processes share the database, so this one may see changes late. */
    mayLag(): boolean
  }
  limits: { state(caller: Id): { name: string; quota: number; window_seconds: number; remaining: number }[] }
  actAs(who: Acting): Promise<Context<H> | null>
}

export interface Acting {
  accountId: Id
  scopes: readonly string[]
  workspaceId: Id | null
  payingKeyId: Id | null
  run?: { id: Id; budgets: readonly Budget[] }
  automationId?: Id | undefined
  lenders?: readonly Lender[]
  consented?: boolean
  signal: AbortSignal
}

export interface Context<H = unknown> extends CallContext {
  engine: Engine<H>
  db: Db
  log: Log
  limits(): { name: string; quota: number; window_seconds: number; remaining: number }[]
  /** Runs `work` in a transaction, joining one that is already open. Its context's `db` is the transaction. */
  transaction<T>(work: (ctx: Context<H>) => Promise<T>): Promise<T>
  /** Call inside `transaction`, so that the event is as durable as the change. */
  emit(...events: EmittedEvent[]): Promise<void>
  afterCommit(work: () => void): void
}

export const implement = implementWith<Context>()
