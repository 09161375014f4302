import type { Context } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import type { FileRow } from '../store.ts'

/**
 * Drive events for the search index, realtime and notifications. Each is written to the outbox in the transaction of its
 * change, on the channel `workspace:<id>` (a move between workspaces on both), with `resource: {type: 'file', id}` for
 * files and folders. An event of a folder covers everything in it.
 *
 * | type                   | when                                                              |
 * |------------------------|-------------------------------------------------------------------|
 * | `file.created`         | created, with its content                                         |
 * | `file.content_changed` | new content; `content_version` is its number                      |
 * | `file.updated`         | renamed; the paths below a folder change too                      |
 * | `file.moved`           | moved to another folder or workspace                              |
 * | `file.trashed`         | trashed; the contents of a folder have its id as `trashed_with`   |
 * | `file.restored`        | restored with everything trashed with it                          |
 * | `file.deleted`         | deleted permanently with everything trashed with it               |
 *
 * `data` is `{id, workspace_id, kind, parent_id, status, content_version}`. Emptying the trash sends one `file.deleted`
 * per row, with `{id, workspace_id, status}` only. Names aren't included, since not every member can read the drive.
 * To find the rows below a folder, use `ancestors @> array[id]`.
 */
export type FileEvent = 'created' | 'content_changed' | 'updated' | 'moved' | 'trashed' | 'restored' | 'deleted'

export const tell = (ctx: Context, verb: FileEvent, row: FileRow, also: readonly Id[] = []): Promise<void> =>
  ctx.emit({
    type: `file.${verb}`,
    channels: [...new Set([row.workspace_id, ...also])].map((id) => `workspace:${id}`),
    resource: { type: 'file', id: row.id },
    data: {
      id: row.id,
      workspace_id: row.workspace_id,
      kind: row.kind,
      parent_id: row.parent_id,
      status: row.status,
      content_version: row.kind === 'file' ? row.content_version : null,
    },
  })
