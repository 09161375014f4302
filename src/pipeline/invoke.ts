import type { Context, Engine } from '#infra/context.ts'
import { type Caller, asCaller } from '#infra/postgres/fair/callers.ts'
import { type EmittedEvent, writeOutboxAll } from '#infra/outbox/outbox.ts'
import { scopeOf } from '#core/access.ts'
import type { Answer } from '#core/context.ts'
import { pathNames } from '#core/contract.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { type Principal, actorOf, anonymous } from '#core/principal.ts'
import { type Entry, inputSchema } from '#core/registry.ts'
import { checkConsent } from './consent.ts'
import { checkScope, countedAs, limitOf, withScope } from './admit.ts'
import { permit } from '#authz/permit.ts'
import { judgeNow } from '#authz/rights.ts'
import { parse, pathId } from './parse.ts'

export interface CallStart {
  principal: Principal
  requestId: Id
  version: string
  signal: AbortSignal
  caller: Context['caller']
  agent?: Context['agent']
}

export interface Ready {
  ctx: Context
  entry: Entry<Context>
  input: Record<string, unknown>
}

/** The pipeline from the scope check on, shared by HTTP, the agent tool, jobs, and agents. */
export interface Line<H = unknown> {
  entries: ReadonlyMap<string, Entry<Context>>
  context(start: CallStart): Context<H>
  admit(ctx: Context, name: string, input: unknown): Promise<Ready>
  invoke(ctx: Context, name: string, input: unknown): Promise<unknown>
}

export const callerOf = (ctx: CallStart, { endpoint }: Pick<Entry<Context>, 'endpoint'>): Caller => ({
  name: ctx.principal === anonymous ? `address ${ctx.caller.ip}` : ctx.principal.accountId,
  signal: ctx.signal,
  reads: limitOf(endpoint) === 'reads' || limitOf(endpoint) === 'searches',
})

/**
 * Checks access with current permissions from the database. Services that list or change data check more than `permit`
 * does, so changes made by other processes are read first.
 */
export async function permitNow(ctx: Context, entry: Entry<Context>, input: Record<string, unknown>): Promise<void> {
  const { rights } = ctx.engine
  const use = (principal: Principal): void => {
    if (principal === ctx.principal) return
    ctx.principal = principal
    checkScope(principal, scopeOf(entry.endpoint.access))
  }
  const isJudgedWhole = entry.endpoint.method === 'GET' && entry.endpoint.access.kind === 'resource'
  if (!isJudgedWhole && rights.mayLag()) use(await rights.renew(ctx.principal))
  await judgeNow(rights, ctx.principal, (principal) => {
    use(principal)
    return permit(ctx, entry, input)
  })
}

export function createLine<H>(engine: Engine<H>, registry: readonly Entry<Context<H>>[]): Line<H> {
  const entries = new Map<string, Entry<Context>>(registry.map((entry) => [entry.name, entry]))
  const schemas = new Map<string, ReturnType<typeof inputSchema>>()
  const schemaOf = ({ name, endpoint }: Entry<Context>) => {
    const schema = schemas.get(name) ?? inputSchema(endpoint)
    schemas.set(name, schema)
    return schema
  }
  const line: Line<H> = {
    entries,
    context: (start) => createContext(engine, start, (ctx, name, input) => line.invoke(ctx, name, input)),
    async admit(outer, name, raw) {
      const entry = entries.get(name)
      if (!entry) return refuse('not_found', { message: `The endpoint ${name} doesn’t exist.` })
      if (entry.endpoint.refused) refuse(entry.endpoint.refused)
      if (entry.endpoint.access.kind === 'session' && outer.principal.credential.kind !== 'session')
        refuse('cookie_session_required')
      const ctx = line.context({ ...outer, principal: outer.principal })
      ctx.principal = await withScope(engine.rights, ctx.principal, scopeOf(entry.endpoint.access))
      const input: Record<string, unknown> = parse(schemaOf(entry), raw ?? {})
      for (const id of pathNames(entry.endpoint.path))
        if (!entry.endpoint.params?.[id]) input[id] = pathId(entry.endpoint.path, id, input[id] as string)
      const caller = callerOf(ctx, entry)
      await asCaller(caller, () => permitNow(ctx, entry, input))
      checkConsent(ctx, entry)
      const handle: typeof entry.handle = (of, input) => asCaller(caller, () => entry.handle(of, input))
      return { ctx, entry: { ...entry, handle }, input }
    },
    async invoke(outer, name, raw) {
      const { ctx, entry, input } = await line.admit(outer, name, raw)
      return entry.handle(ctx, input)
    },
  }
  return line
}

type Invoke = (ctx: Context, name: string, input: unknown) => Promise<unknown>

function createContext<H>(engine: Engine<H>, start: CallStart, invoke: Invoke): Context<H> {
  const answer: Answer = { headers: {} }
  const ctx: Context<H> = {
    principal: start.principal,
    requestId: start.requestId,
    version: start.version,
    signal: start.signal,
    caller: start.caller,
    agent: start.agent ?? null,
    answer,
    wantsEvents: false,
    upload: null,
    resource: null,
    workspace: null,
    unchangedSince: null,
    engine,
    db: engine.postgres.db,
    log: engine.log,
    limits: () => engine.limits.state(countedAs(start.principal)),
    now: () => new Date(),
    invoke: (name, input) => invoke(ctx, name, input),
    transaction: (work) => transaction(ctx, work),
    emit: () => {
      throw new Error('emit needs a transaction, so that the event is as durable as its change')
    },
    afterCommit: (work) => work(),
  }
  return ctx
}

async function transaction<H, T>(outer: Context<H>, work: (ctx: Context<H>) => Promise<T>): Promise<T> {
  const { engine, principal } = outer
  const after: (() => void)[] = []
  const result = await engine.postgres.db.transaction().execute((db) => {
    const inner: Context<H> = {
      ...outer,
      db,
      transaction: (further) => further(inner),
      emit: (...events: EmittedEvent[]) => {
        if (after.length === 0 || !after.includes(wakeRelay)) after.push(wakeRelay)
        return writeOutboxAll(db, events, actorOf(principal))
      },
      afterCommit: (later) => void after.push(later),
    }
    inner.invoke = (name, input) => outer.invoke(name, input)
    return work(inner)
  })
  for (const later of after) later()
  return result

  function wakeRelay(): void {
    engine.bus.poke('outbox')
  }
}
