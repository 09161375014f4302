import type { Context } from '#infra/context.ts'
import type { Page } from '#core/answers.ts'
import type { Input } from '#core/contract.ts'
import { Refusal, refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { cursorOf, positionOf } from '#core/paging.ts'
import type { Output } from '#daemon-protocol/operations.ts'
import { checkMayUse } from '../access.ts'
import type { fileEndpoints } from '../contract-files.ts'
import { watchPermission } from '../exec/permission.ts'
import type { HasLinks } from '../link/links.ts'
import type { ComputerRow } from '../store.ts'

type FsInput = Input<typeof fileEndpoints.fs>
type Entry = Output<'fs.stat'>

/** Optional fields besides `op` and `path`. */
const FIELDS: Record<FsInput['op'], readonly (keyof FsInput)[]> = {
  list: ['cursor'],
  stat: [],
  mkdir: ['parents'],
  remove: ['recursive'],
}

export async function fs(ctx: Context<HasLinks>, row: ComputerRow, input: FsInput) {
  const { id, op, parents = false, recursive = false } = input
  const isRead = op === 'list' || op === 'stat'
  const capability = isRead ? 'fs_read' : 'fs_write'
  checkMayUse(ctx.principal, row, capability)
  checkFields(input)
  const { links } = ctx.engine
  if (input.path === undefined && !isRead)
    refuse('missing_parameter', { param: 'path', message: `\`path\` is required for \`${op}\`.` })
  const path = input.path ?? (await startOf(ctx, id))
  // Losing permission stops a long removal.
  await using permitted = watchPermission(ctx, id, capability, ctx.signal)
  const more = { signal: permitted.signal }
  switch (op) {
    case 'list':
      return await list(ctx, { ...input, path })
    case 'stat':
      return showEntry(await links.ask(id, 'fs.stat', { path }, more))
    case 'mkdir':
      return showEntry(await links.ask(id, 'fs.mkdir', { path, parents }, more))
    case 'remove': {
      const { removed } = await links.ask(id, 'fs.remove', { path, recursive }, more)
      return { path, removed }
    }
  }
}

function checkFields(input: FsInput): void {
  const others = (['recursive', 'parents', 'cursor'] as const).filter((one) => !FIELDS[input.op].includes(one))
  const other = others.find((field) => input[field] !== undefined)
  if (other !== undefined)
    refuse('unknown_parameter', { param: other, message: `\`${input.op}\` doesn’t accept \`${other}\`.` })
}

/** Earlier daemons lack the operation; their home is used. */
async function startOf({ engine: { links }, signal }: Context<HasLinks>, id: Id): Promise<string> {
  try {
    return (await links.ask(id, 'fs.start', {}, { signal })).path
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 'not_supported')) throw error
    return (await links.ask(id, 'daemon.probe', {}, { signal })).home ?? '/'
  }
}

async function list(
  { engine, signal }: Context<HasLinks>,
  { id, path, cursor, ...query }: FsInput & { path: string },
): Promise<Page<Entry>> {
  const filters = { id, path }
  const from = positionOf('computer_files', filters, cursor)?.[0]
  // Calls without a query string may omit it despite the type.
  const limit = (query.limit as number | undefined) ?? 25
  const input = { path, cursor: from === undefined ? null : String(from), limit }
  const { entries, next_cursor } = await engine.links.ask(id, 'fs.list', input, { signal })
  return {
    rows: entries.slice(0, limit).map(showEntry),
    next: next_cursor === null ? null : cursorOf('computer_files', filters, [next_cursor]),
  }
}

/** Normalizes the timestamp to milliseconds. */
export const showEntry = (entry: Entry): Entry => ({ ...entry, modified_at: new Date(entry.modified_at).toISOString() })
