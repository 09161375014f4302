import type { Context } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import type { ComputerRow } from './store.ts'

export const channelsOf = (row: ComputerRow): string[] => [
  ...(row.account_id === null ? [] : [`user:${row.account_id}`]),
  `workspace:${row.workspace_id}`,
  ...row.exposures.map(({ workspace_id }) => `workspace:${workspace_id}`),
]

/** Runs in the caller's transaction. `also`: workspaces that just lost access. */
export const publishEvent = (
  ctx: Context,
  verb: string,
  row: ComputerRow,
  more: Record<string, unknown> = {},
  also: readonly Id[] = [],
): Promise<void> =>
  ctx.emit({
    type: `computer.${verb}`,
    channels: [...channelsOf(row), ...also.map((id) => `workspace:${id}`)],
    resource: { type: 'computer', id: row.id },
    data: { id: row.id, workspace_id: row.workspace_id, name: row.name, ...more },
  })
