import type { Context } from '#infra/context.ts'
import type { Background } from '#core/answers.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Nano } from '#core/money.ts'
import { actorOf, behalfOf } from '#core/principal.ts'
import type { Scope } from '#core/scopes.ts'
import { tell, wake } from './events.ts'
import { showOperation } from './show.ts'
import { jobKey, operations } from './store.ts'

/** Tools of a running operation beside its context. */
export interface Running {
  id: Id
  /** Fires within a second of a cancellation, when its time is over, and when the server stops. */
  signal: AbortSignal
  /** 1, and more when it was begun before by a process that ended. */
  attempt: number
  /** Fires at a cancellation and when its time is over, and not when the server stops. */
  cancelled: AbortSignal
  /** 0 to 1. Cheap to call often. */
  progress(fraction: number): void
  /** Adds to its content, which can be read meanwhile: text, of this attempt alone. Cheap to call often. */
  append(text: string): void
}

/** The end of an operation. */
export interface Outcome {
  /** The operation's subject was stopped meanwhile: it ends as `cancelled`, with what there is of a result. */
  cancelled?: boolean
  /** The answer that the call would have had. */
  result?: unknown
  /** The content for `/content`: text, or a file of the drive. */
  content?: { type: string; text: string } | { fileId: Id }
  resource?: { type: string; id: string }
  cost?: Nano | null
}

export interface OperationKind<I extends object = object, H = unknown> {
  name: string
  run(ctx: Context<H>, input: I, operation: Running): Promise<Outcome>
  /** Whether it may be done again from the start after its process died; else it then fails as `interrupted`. */
  repeatable: boolean
  /** The most times that it is begun, the first included. */
  attempts: number
  /** The host whose processes alone can do it; null: any process can. */
  host(input: I): string | null
  /** Seconds from its start; then it ends as `expired`. */
  expiresInSeconds: number
  contentSeconds: number
  /** The scope that the account must still have in the operation's workspace when it begins; null: `run` checks for itself. */
  scope: Scope | null
}

const DAY = 86_400

/**
 * A kind of work for the background. `run` gets a context that acts as the account that started it, with no more
 * scopes than the starter had, and `ctx.signal` is the operation's. What it throws is the operation's error.
 */
export const defineOperation = <I extends object, H = unknown>(
  name: string,
  run: OperationKind<I, H>['run'],
  {
    repeatable = false,
    attempts = 3,
    host = () => null,
    expiresInSeconds = DAY,
    contentSeconds = 7 * DAY,
    scope = null,
  }: Partial<Omit<OperationKind<I>, 'name' | 'run'>> = {},
): OperationKind<I, H> => ({ name, run, repeatable, attempts, host, expiresInSeconds, contentSeconds, scope })

/** The job of an operation: one that a certain host does has a name of that host's, which no other process takes. */
export const jobOf = (host: string | null): string => (host === null ? 'operation' : `operation@${host}`)

/** Each one is held in memory and watched by the process that does it. */
const MOST_UNFINISHED = 1_000

/** Refuses an account that has as many unfinished operations as it may have. Of calls at the same moment, a few more pass. */
export async function checkOperationRoom({ db, principal: { accountId } }: Context): Promise<void> {
  if ((await operations.countUnfinished(db, accountId, MOST_UNFINISHED)) < MOST_UNFINISHED) return
  refuse('concurrency_limited', {
    message: `You have ${MOST_UNFINISHED} unfinished operations, which is the limit. Wait for some to finish, or cancel some.`,
    details: { limit: MOST_UNFINISHED },
    headers: { 'retry-after': '5' },
  })
}

/**
 * Writes the operation and its job in one transaction (the caller's, if there is one). What it answers is what a
 * handler with `operation(…)` as its reply hands on: 202 and the operation.
 */
export async function startOperation<I extends object>(
  outer: Context,
  kind: Pick<OperationKind<I>, 'name' | 'contentSeconds' | 'expiresInSeconds' | 'host'>,
  input: I,
  {
    resource,
    workspaceId,
    chatId = null,
    isAccepted = false,
  }: {
    resource?: { type: string; id: string }
    workspaceId?: Id | null
    chatId?: Id | null
    /** What it follows has begun already, so there is room for it. */
    isAccepted?: boolean
  } = {},
): Promise<Background & { operation: ReturnType<typeof showOperation> }> {
  if (!isAccepted) await checkOperationRoom(outer)
  return outer.transaction(async (ctx) => {
    const { credential } = ctx.principal
    const row = await operations.insert(ctx.db, {
      id: newId(),
      ...behalfOf(ctx.principal),
      workspace_id: workspaceId ?? ctx.workspace?.id ?? (credential.kind === 'session' ? null : credential.workspaceId),
      chat_id: chatId,
      kind: kind.name,
      input,
      resource_type: resource?.type ?? null,
      resource_id: resource?.id ?? null,
      content_seconds: kind.contentSeconds,
      expires_at: new Date(ctx.now().getTime() + kind.expiresInSeconds * 1000),
    })
    await ctx.engine.jobs.add(ctx, jobOf(kind.host(input)), { id: row.id }, { key: jobKey(row.id) })
    await tell(ctx.db, row, actorOf(ctx.principal))
    ctx.afterCommit(() => wake(ctx.engine))
    return { operation: showOperation(row) }
  })
}
