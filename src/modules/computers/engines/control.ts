import type { HasEndpoints } from '#modules/ai-gateway/service.ts'
import { cancelOperation, type HasOperationWatch } from '#modules/operations/service.ts'
import { rightsChanged } from '#authz/rights.ts'
import type { Context } from '#infra/context.ts'
import type { Background } from '#core/answers.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { iso } from '#core/time.ts'
import type { Input, Output } from '#daemon-protocol/operations.ts'
import { checkManages } from '../access.ts'
import type { HasLinks } from '../link/links.ts'
import { publishEvent } from '../events.ts'
import { loadComputer } from '../manage.ts'
import { type ComputerRow, computerStore } from '../store.ts'
import { checkOnline, installEngine } from './install.ts'
import { controlEngines, refreshModels, nextRequestNumber, workspacesOf } from './learn.ts'
import { type LocalModelRow, localModels } from './model-store.ts'
import { localOperations } from './operation-store.ts'
import { type ShownOperation, showLocalModel, showLocalOperations } from './show.ts'

export type EngineHandles = HasLinks & HasEndpoints & HasOperationWatch
type Ctx = Context<EngineHandles>

/** How long a list waits for a slow daemon before it returns the stored state. */
const LIST_MS = 5_000

export async function controlEngine(
  ctx: Ctx,
  row: ComputerRow,
  {
    action,
    engine,
    model,
  }: {
    action: Input<'engine.control'>['action']
    engine?: Input<'engine.control'>['engine'] | undefined
    model?: string | undefined
  },
): Promise<Background | ({ id: Id; created_at: string } & Output<'engine.control'>)> {
  const input = { action, engine: engine ?? null, model: model ?? null }
  try {
    const state = await controlEngines(ctx.engine, row.id, input, ctx.signal)
    return { id: row.id, created_at: iso(row.created_at), ...state }
  } catch (error) {
    const missing = error instanceof Refusal && error.code === 'engine_not_ready' ? error.details?.engine : null
    if (action !== 'start' || (missing !== 'llama' && missing !== 'sherpa')) throw error
    return installEngine(ctx, row, missing)
  }
}

export async function listModels(
  ctx: Ctx,
  row: ComputerRow,
  { cursor, limit }: { cursor?: string | undefined; limit: number },
) {
  const after = positionOf('local_models', { id: row.id }, cursor)?.[0]
  if (row.online && after === undefined)
    await refreshModels(ctx.engine, row.id, ctx.signal, LIST_MS).catch((error: unknown) =>
      ctx.engine.log.debug({ error, computer_id: row.id }, 'a computer does not list its models'),
    )
  const rows = await localModels.list(ctx.db, row.id, after === undefined ? null : String(after), limit + 1)
  return pageOf(
    rows,
    limit,
    ({ name }) => cursorOf('local_models', { id: row.id }, [name]),
    (model) => showLocalModel(model, row.online),
  )
}

export async function removeModel(ctx: Ctx, row: ComputerRow, id: Id): Promise<{ id: Id }> {
  checkManages(ctx.principal, row, 'computer:write', 'member')
  const model = await modelOf(ctx, row.id, id)
  checkReady(model)
  checkOnline(row)
  await ctx.engine.links
    .ask(row.id, 'engine.remove', { name: model.name }, { signal: ctx.signal })
    // The model was removed on the machine, possibly with Ollama.
    .catch((error: unknown) => {
      const missingCodes = model.engine === 'ollama' ? ['not_found', 'engine_not_ready'] : ['not_found']
      if (!(error instanceof Refusal && missingCodes.includes(error.code))) throw error
    })
  // A list requested earlier may still contain the model.
  const place = await nextRequestNumber(ctx.engine)
  const remove = async (db: Ctx['db']): Promise<void> => {
    await computerStore.dropModelsBefore(db, row.id, place)
    await localModels.remove(db, id)
  }
  await applyChange(ctx, row.id, 'local_model_removed', remove, { local_model_id: id, model: model.name })
  return { id }
}

export async function mapModel(ctx: Ctx, row: ComputerRow, id: Id, mapping: string | null) {
  // Like a provider, a mapping receives platform calls.
  checkManages(ctx.principal, row, 'computer:write', 'admin')
  const model = await modelOf(ctx, row.id, id)
  checkReady(model)
  if (model.mapping === mapping) return showLocalModel(model, row.online)
  const mapped = await applyChange(
    ctx,
    row.id,
    'local_model_mapped',
    async (db) => {
      if (mapping !== null) await computerStore.update(db, row.id, { vouched: true })
      return localModels.map(db, id, mapping)
    },
    {
      local_model_id: id,
      model: model.name,
      mapping,
    },
  )
  return showLocalModel(mapped, row.online)
}

async function applyChange<T>(
  outer: Ctx,
  computerId: Id,
  verb: string,
  work: (db: Ctx['db']) => Promise<T>,
  more: Record<string, unknown>,
): Promise<T> {
  const result = await outer.transaction(async (ctx) => {
    const row = await loadComputer(ctx, computerId)
    const workResult = await work(ctx.db)
    await rightsChanged(ctx.db, workspacesOf(row))
    await publishEvent(ctx, verb, row, more)
    return workResult
  })
  await outer.engine.endpoints.refresh()
  return result
}

const modelOf = async (ctx: Ctx, computerId: Id, id: Id): Promise<LocalModelRow> =>
  (await localModels.get(ctx.db, computerId, id)) ?? refuse('not_found', { param: 'local_model_id' })

function checkReady({ status }: LocalModelRow): void {
  if (status === 'installing')
    refuse('invalid_state', {
      message: 'The model is being installed. Wait for it to finish, or cancel it.',
      details: { status, allowed: ['ready', 'broken'] },
    })
}

export async function listOperations(
  ctx: Ctx,
  { id }: ComputerRow,
  { status, cursor, limit }: { status?: string | undefined; cursor?: string | undefined; limit: number },
) {
  const filters = { id, status }
  const before = positionOf('local_operations', filters, cursor)?.[0]
  const rows = await localOperations.list(ctx.db, {
    computerId: id,
    status: status ?? null,
    before: before === undefined ? null : String(before),
    limit: limit + 1,
  })
  const operations = new Map((await showLocalOperations(ctx.db, rows)).map((one) => [one.id, one]))
  return pageOf(
    rows,
    limit,
    ({ operation_id }) => cursorOf('local_operations', filters, [operation_id]),
    ({ operation_id }) => operations.get(operation_id)!,
  )
}

export async function cancelInstallation(ctx: Ctx, { id }: ComputerRow, operationId: Id): Promise<ShownOperation> {
  const row = (await localOperations.get(ctx.db, id, operationId)) ?? refuse('not_found', { param: 'operation_id' })
  await cancelOperation(ctx.engine, operationId)
  const [operation] = await showLocalOperations(ctx.db, [row])
  if (['succeeded', 'failed', 'expired'].includes(operation!.status))
    refuse('invalid_state', {
      message: `The installation has already ended. Its status is ${operation!.status}.`,
      details: { status: operation!.status, allowed: [] },
    })
  return operation!
}
