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

export interface Running {
  id: Id
  /** Aborts within a second of a cancellation, at the time limit, and when the server stops. */
  signal: AbortSignal
  /** Above 1 after a process died. */
  attempt: number
  /** Aborts on cancellation and at the time limit, but not when the server stops. */
  cancelled: AbortSignal
  /** 0 to 1. Cheap to call often. */
  progress(fraction: number): void
  /** Appends to the content of this attempt, which is readable meanwhile. Cheap to call often. */
  append(text: string): void
}

export interface Outcome {
  /** The subject was stopped: ends as `cancelled` with a partial result. */
  cancelled?: boolean
  /** The response of the equivalent inline call. */
  result?: unknown
  /** For `/content`: text, or a drive file. */
  content?: { type: string; text: string } | { fileId: Id }
  resource?: { type: string; id: string }
  cost?: Nano | null
}

export interface OperationKind<I extends object = object, H = unknown> {
  name: string
  run(ctx: Context<H>, input: I, operation: Running): Promise<Outcome>
  /** Whether it can restart after its process died. Otherwise it fails as `interrupted`. */
  repeatable: boolean
  attempts: number
  /** Null: any host can run it. */
  host(input: I): string | null
  /** From its start, until `expired`. */
  expiresInSeconds: number
  contentSeconds: number
  /** Required when it starts. Null: `run` checks permissions itself. */
  scope: Scope | null
}

const DAY = 86_400

/**
 * `run` acts as the account that started it, limited to the starter's scopes. `ctx.signal` is the operation's. Errors
 * it throws become the operation's error.
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

/** Jobs for one host have that host's name, so no other process takes them. */
export const jobOf = (host: string | null): string => (host === null ? 'operation' : `operation@${host}`)

const MAX_UNFINISHED = 1_000

/** Concurrent calls can slightly exceed the limit. */
export async function checkOperationRoom({ db, principal: { accountId } }: Context): Promise<void> {
  if ((await operations.countUnfinished(db, accountId, MAX_UNFINISHED)) < MAX_UNFINISHED) return
  refuse('concurrency_limited', {
    message: `You have ${MAX_UNFINISHED} unfinished operations, which is the limit. Wait for some to finish, or cancel some.`,
    details: { limit: MAX_UNFINISHED },
    headers: { 'retry-after': '5' },
  })
}

/**
 * Writes the operation and its job in one transaction, the caller's if there is one. Returns the reply of a handler
 * declared with `operation(…)`: 202 and the operation.
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
