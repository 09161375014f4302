import type { Context } from '#infra/context.ts'
import type { Id } from '#core/ids.ts'
import type { FileRow } from '../store.ts'

/**
 * Events of the drive, for whoever follows: the search index, realtime, notifications. Each event is written to
 * the outbox in the transaction of its change, on the channel `workspace:<id>` (a move across workspaces on both), with
 * `resource: {type: 'file', id}` for files and folders alike.
 *
 * | type                   | when                                                                       |
 * |------------------------|----------------------------------------------------------------------------|
 * | `file.created`         | a file or folder came to be, its content with it                           |
 * | `file.content_changed` | a file holds other bytes: `content_version` is the new one                 |
 * | `file.updated`         | renamed: of a folder, the paths of all below it are others                 |
 * | `file.moved`           | to another folder or workspace: of a folder, with all that is in it        |
 * | `file.trashed`         | of a folder, with all that was in it: the rows whose `trashed_with` is its id |
 * | `file.restored`        | of a folder, with all that was trashed with it                             |
 * | `file.deleted`         | gone for good: of a folder, with all that was trashed with it              |
 *
 * `data` is `{id, workspace_id, kind, parent_id, status, content_version}`; a `file.deleted` by the emptying of the
 * trash has only `{id, workspace_id, status}` and comes once per row. No names: not everybody in a workspace may read
 * its drive. There is one event per change, not one per row below a folder: `ancestors @> array[id]` finds those.
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
