import { setTimeout as sleep } from 'node:timers/promises'
import { defineOperation, type Running, startOperation } from '#modules/operations/service.ts'
import { type ReadableFile, readableFile } from '#modules/drive/service.ts'
import type { Context } from '#infra/context.ts'
import type { Background } from '#core/answers.ts'
import { Refusal, refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import type { Input } from '#daemon-protocol/operations.ts'
import { workspaceFor } from '../access.ts'
import { cloudStore } from '../drivers/store.ts'
import { checkPermitted, watchPermission } from '../exec/permission.ts'
import type { HasLinks } from '../link/links.ts'
import { offline } from '../link/offline.ts'
import type { ComputerRow } from '../store.ts'
import { installOverLink } from './install-over-link.ts'
import { engineStatus, refreshModels } from './learn.ts'
import { localModels } from './model-store.ts'
import { localOperations } from './operation-store.ts'
import { showLocalModel, showLocalOperations } from './show.ts'

export type Source = { url: string; sha256?: string | undefined } | { file_id: Id } | { ollama: string }

/** A model already has its row. */
type What = { kind: 'engine'; engine: EngineName } | { kind: 'model'; model_id: Id; name: string; source: Source }

type EngineName = NonNullable<Input<'engine.control'>['engine']>
const ENGINES: Readonly<Record<EngineName, string>> = {
  llama: 'llama.cpp',
  sherpa: 'sherpa-onnx',
  ollama: 'Ollama',
}

interface InstallInput {
  computer_id: Id
  what: What
}

const MAX_MODELS = 200
const WEEK_SECONDS = 7 * 86_400
/** The wait for computers that reconnect after a server restart. */
const BACK_MS = 600_000
const STILL_MS = 15_000
const STILL_LOOK_MS = 250

export const installOperation = defineOperation<InstallInput, HasLinks>('computers.local_inference', run, {
  // An installation resumes where it stopped; nothing is installed twice.
  repeatable: true,
  attempts: 1_000,
  scope: 'computer:write',
  expiresInSeconds: WEEK_SECONDS,
})

export async function installModel(
  outer: Context<HasLinks>,
  row: ComputerRow,
  { source, name: requestedName }: { source: Source; name?: string | undefined },
): Promise<Background> {
  checkOnline(row)
  if (!('file_id' in source)) await checkNetwork(outer, row, 'this model')
  const name = await nameOf(outer, source, requestedName)
  return outer.transaction(async (ctx) => {
    const { length } = await localModels.list(ctx.db, row.id, null, MAX_MODELS)
    if (length >= MAX_MODELS) refuse('limit_reached', { message: `A computer can have up to ${MAX_MODELS} models.` })
    const model =
      (await localModels.claim(ctx.db, {
        id: newId(),
        computer_id: row.id,
        name,
        engine: 'ollama' in source ? 'ollama' : 'llama',
      })) ??
      refuse('already_exists', {
        param: 'name',
        message: `The computer already has a model named ${name}, or is installing it. Remove it first, or use another name.`,
      })
    return begin(ctx, row, { kind: 'model', model_id: model.id, name, source })
  })
}

/** Returns the running installation if there is one. */
export async function installEngine(
  outer: Context<HasLinks>,
  row: ComputerRow,
  engine: EngineName,
): Promise<Background> {
  await checkNetwork(outer, row, ENGINES[engine])
  return outer.transaction(async (ctx) => {
    // Concurrent calls share an installation.
    await ctx.db.selectFrom('computers').select('id').where('id', '=', row.id).forUpdate().execute()
    const open = await localOperations.ofEngine(ctx.db, row.id)
    if (open !== null) return { operation: (await showLocalOperations(ctx.db, [open]))[0]! }
    return begin(ctx, row, { kind: 'engine', engine })
  })
}

async function begin(ctx: Context<HasLinks>, row: ComputerRow, what: What): Promise<Background> {
  const resource = what.kind === 'model' ? { type: 'local_model', id: what.model_id } : { type: 'computer', id: row.id }
  const { operation } = await startOperation(
    ctx,
    installOperation,
    { computer_id: row.id, what },
    { resource, workspaceId: workspaceFor(ctx.principal, row, 'inference') },
  )
  const model_id = what.kind === 'model' ? what.model_id : null
  await localOperations.insert(ctx.db, { operation_id: operation.id, computer_id: row.id, model_id })
  const local = await localOperations.get(ctx.db, row.id, operation.id)
  return { operation: (await showLocalOperations(ctx.db, [local!]))[0]! }
}

export function checkOnline(row: ComputerRow): void {
  if (!row.online) offline(row)
}

/** Without a network, the download would be retried for minutes. */
async function checkNetwork({ db }: Context, row: ComputerRow, what: string): Promise<void> {
  const cloud = await cloudStore.get(db, row.id)
  if (cloud?.network === 'none')
    refuse('not_supported', {
      message: `The computer has no network access (\`network: none\`), so ${what} can’t be downloaded. Create a computer with \`network: internet\` instead.`,
    })
}

async function nameOf(ctx: Context, source: Source, requestedName: string | undefined): Promise<string> {
  if ('ollama' in source) {
    if (requestedName !== undefined)
      refuse('invalid_parameter', { param: 'name', message: 'Ollama models keep their own names. Leave out `name`.' })
    // Ollama lists models with their tag.
    return /:[^/]+$/.test(source.ollama) ? source.ollama : `${source.ollama}:latest`
  }
  const from =
    'url' in source
      ? decodeURIComponent(
          new URL(source.url).pathname
            .split('/')
            .at(-1)!
            .replace(/%(?![0-9a-f]{2})/gi, '%25'),
        )
      : (await readableFile(ctx, source.file_id, 'source.file_id')).name
  const name = requestedName ?? from.replace(/\.(gguf|tar(\.(bz2|gz))?|tbz2|tgz)$/i, '')
  return /^[a-zA-Z0-9][a-zA-Z0-9._:-]{0,99}$/.test(name)
    ? name
    : refuse('missing_parameter', {
        param: 'name',
        message: '`name` is required, because the file’s name isn’t a valid model name.',
      })
}

async function run(ctx: Context<HasLinks>, { computer_id, what }: InstallInput, operation: Running) {
  const { engine } = ctx
  await using permitted = watchPermission(ctx, computer_id, 'inference', operation.signal)
  try {
    await checkPermitted(ctx, computer_id, 'inference')
    // After a server restart, the computer reconnects once it notices.
    if (operation.attempt > 1) await engine.links.online(computer_id, BACK_MS, operation.signal)
    const { source, file } = await sourceOf(ctx, what)
    await installOverLink(engine.links, {
      computerId: computer_id,
      input: { key: operation.id, name: what.kind === 'model' ? what.name : what.engine, source },
      file,
      signal: permitted.signal,
      progress: progressOf(ctx, operation),
    })
  } catch (error) {
    // A server that shuts down leaves the installation to the next one.
    const stopping = operation.signal.aborted || (error instanceof Refusal && error.code === 'shutting_down')
    const over = operation.cancelled.aborted || !stopping
    if (what.kind === 'model' && over) await localModels.giveUp(engine.postgres.db, what.model_id)
    // The state may be `starting` by now.
    if (what.kind === 'engine' && over)
      void recordStateOnceIdle(engine, computer_id).catch((cause: unknown) =>
        engine.log.debug({ error: cause, computer_id }, 'a computer does not say how its engine is'),
      )
    throw error
  }
  await refreshModels(engine, computer_id, operation.signal)
  if (what.kind === 'engine') {
    await engineStatus(engine, computer_id, operation.signal)
    return { result: { engine: what.engine } }
  }
  const row = await localModels.named(engine.postgres.db, computer_id, what.name)
  if (row === null || row.status !== 'ready')
    return refuse('upstream_error', { message: 'The computer installed the model but doesn’t list it.' })
  return { result: showLocalModel(row), resource: { type: 'local_model', id: row.id } }
}

/** A canceled installation takes a moment to stop. */
async function recordStateOnceIdle(engine: Context<HasLinks>['engine'], computerId: Id): Promise<void> {
  const signal = AbortSignal.timeout(STILL_MS)
  for (;;) {
    const state = await engineStatus(engine, computerId, signal)
    if (!state.engines.some(({ status }) => status === 'installing')) return
    await sleep(STILL_LOOK_MS, undefined, { signal })
  }
}

async function sourceOf(
  ctx: Context,
  what: What,
): Promise<{ source: Input<'engine.install'>['source']; file: ReadableFile | null }> {
  if (what.kind === 'engine') return { source: { type: 'engine', engine: what.engine }, file: null }
  const { source } = what
  if ('url' in source) return { source: { type: 'url', url: source.url, sha256: source.sha256 ?? null }, file: null }
  if ('ollama' in source) return { source: { type: 'ollama', model: what.name }, file: null }
  const file = await readableFile(ctx, source.file_id, 'source.file_id')
  return { source: { type: 'upload', size: file.size, sha256: file.sha256 }, file }
}

/** Stores progress up to twice a second. */
function progressOf({ engine: { postgres, log } }: Context, operation: Running) {
  let writing = Promise.resolve()
  return ({
    phase,
    completed,
    total,
  }: {
    phase: NonNullable<unknown> & string
    completed: number
    total: number
  }): void => {
    if (total > 0) operation.progress(completed / total)
    const row = {
      phase: phase as 'downloading',
      bytes_done: BigInt(completed),
      bytes_total: total > 0 ? BigInt(total) : null,
    }
    writing = writing
      .then(() => localOperations.progress(postgres.db, operation.id, row))
      .catch((error: unknown) => log.warn({ error, operation: operation.id }, 'progress was not written'))
  }
}
