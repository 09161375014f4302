import { z } from 'zod'
import { byScope, inWorkspace, resource } from '#core/access.ts'
import { base, endpoint, id, idOut, one, page } from '#core/contract.ts'
import { DriveFile } from './contract-file.ts'

export const FilePlace = z
  .object({
    ...base,
    file: DriveFile,
    ancestors: z
      .array(z.object({ id: idOut, name: z.string() }))
      .describe('The parent folders the caller can read, outermost first.'),
    access: z
      .enum(['view', 'edit', 'all'])
      .describe('`view` can read. `edit` can also change the name and content. `all` can also move, trash and share.'),
  })
  .meta({ id: 'FilePlace' })

export const FolderRows = z
  .object({
    ...base,
    files: z.array(DriveFile).describe('Newest first.'),
    next: idOut.nullable().describe('The value of `before` for the next page. Null: this is the last page.'),
  })
  .meta({ id: 'FolderRows', description: '`id` is the ID of the folder, or of the workspace for its root.' })

/** Endpoints that combine several calls for the app's drive pages. */
export const appEndpoints = {
  place: endpoint('GET /app/drive/files/:id', {
    summary: 'Get a file or folder with its parent folders and your permissions',
    access: resource('file', { scope: 'drive:read' }),
    reply: one(FilePlace),
    beyond: true,
  }),
  rows: endpoint('GET /app/drive/rows', {
    summary: 'List the contents of a folder',
    description:
      'Like `GET /drive/files` with `parent_id`, but with 2,000 rows per request, for pages that sort on their own.',
    access: inWorkspace('drive:read'),
    query: {
      workspace_id: id.optional().describe('The workspace whose root is listed. Default: your personal workspace.'),
      parent_id: id.optional().describe('The folder to list, instead of a root.'),
      before: id
        .optional()
        .describe('Only files and folders older than the one with this ID: `next` of the previous page.'),
    },
    reply: one(FolderRows),
    errors: ['not_found', 'insufficient_role'],
    beyond: true,
  }),
  latest: endpoint('GET /app/drive/latest', {
    summary: 'List recently edited files in your workspaces',
    access: byScope('drive:read'),
    query: { workspace_id: id.optional().describe('Only files in this workspace.') },
    reply: page(DriveFile),
    beyond: true,
  }),
} as const
