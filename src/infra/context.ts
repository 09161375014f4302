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
import type { Media } from './media/media.ts'
import type { Scanner } from './text/scan/scanner.ts'
import type { Outbound } from './http-client/outbound.ts'
import type { EmittedEvent } from './outbox/outbox.ts'
import type { Db, Postgres } from './postgres/client.ts'
import type { PictureMaker } from './pictures/maker.ts'
import type { RequestLog } from './request-log/request-log.ts'
import type { Secrets } from './secrets.ts'

/**
 * The parts that keep state, built once by app.ts and shared by every call of this process; with the handles `H` of
 * areas and of the gateway that a function uses besides, such as `Engine<{ hub: Hub }>`.
 */
export type Engine<H = unknown> = Machinery<H> & H

interface Machinery<H> {
  config: Config
  /** The address of this instance, such as `https://uk.example.com`. */
  origin(): string
  postgres: Postgres
  secrets: Secrets
  bus: Bus
  jobs: Jobs
  /** The store of file bytes. */
  blobs: Blobs
  ledger: Ledger
  /** The log of requests to models. */
  requestLog: RequestLog
  log: Log
  /** The way out to addresses that users name: public ones, and those in `UK_FETCH_ALLOW`. */
  outside: Outbound
  /** How long the head of a stream waits for what is streamed to start. */
  headMs: number
  documents: DocumentReader
  pictures: PictureMaker
  /** Pictures, video and sound on this machine: read, converted, spoken. */
  media: Media
  scanner: Scanner
  /** Every event that an area tells of. */
  events: EventTable
  /** This server process, as its lease names it. */
  processId: Id
  /** The dated versions of the API. */
  versions: { newest: string; check(date: string, param?: string): string }
  /**
   * Called after a commit that changed rights: they are in force in this process when it resolves, in the others
   * within a second.
   */
  rights: {
    refresh(): Promise<void>
    renew(principal: Principal): Promise<Principal>
    /** Other processes share the database, so this one may hear of a change later than its caller. */
    mayLag(): boolean
  }
  limits: { state(caller: Id): { name: string; quota: number; window_seconds: number; remaining: number }[] }
  /** A context of the server acting for an account, for what outlives a call. Null when the account is gone. */
  actAs(who: Acting): Promise<Context<H> | null>
}

/** The account that the server acts for, and how much of its rights it uses. */
export interface Acting {
  accountId: Id
  scopes: readonly string[]
  /** The only workspace that it may reach; null reaches all of the account's. */
  workspaceId: Id | null
  /** The key that started it, under whose cap it pays. */
  payingKeyId: Id | null
  /** The run whose agent it acts for. */
  run?: { id: Id; budgets: readonly Budget[] }
  /** The automation that it goes back to. */
  automationId?: Id | undefined
  /** The accounts whose rights bind this call besides the caller's. */
  lenders?: readonly Lender[]
  /** A person has agreed to the one call that it is for. */
  consented?: boolean
  signal: AbortSignal
}

/** The world as a service sees it. */
export interface Context<H = unknown> extends CallContext {
  engine: Engine<H>
  /** The pool, or inside `transaction` the transaction. */
  db: Db
  log: Log
  /** The rate limits of this caller as they stand now. */
  limits(): { name: string; quota: number; window_seconds: number; remaining: number }[]
  /**
   * Runs `work` in a transaction, or in the one that is already open. `work` gets a context whose `db` is the
   * transaction.
   */
  transaction<T>(work: (ctx: Context<H>) => Promise<T>): Promise<T>
  /** Must be called inside `transaction`, so that the event is as durable as its change. */
  emit(...events: EmittedEvent[]): Promise<void>
  /** Runs once the transaction is durable; at once outside of one. */
  afterCommit(work: () => void): void
}

export const implement = implementWith<Context>()
