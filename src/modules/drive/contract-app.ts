import { z } from 'zod'
import { base, endpoint, id, idOut, one, page } from '#core/contract.ts'
import { DriveFile } from './contract-file.ts'

export const FilePlace = z
  .object({
    ...base,
    file: DriveFile,
    ancestors: z
      .array(z.object({ id: idOut, name: z.string() }))
      .describe('The folders it lies in that the caller may read, outermost first.'),
    access: z
      .enum(['view', 'edit', 'all'])
      .describe('`view` reads; `edit` changes name and content too; `all` moves, trashes and shares as well.'),
  })
  .meta({ id: 'FilePlace' })

export const FolderRows = z
  .object({
    ...base,
    files: z.array(DriveFile).describe('Newest first.'),
    next: idOut.nullable().describe('Goes into `before` for what follows; null: this is all.'),
  })
  .meta({ id: 'FolderRows', description: '`id` is that of the folder, or of the workspace whose root it is.' })

/** Endpoints that give the drive's pages in one call what takes other clients several. */
export const appEndpoints = {
  place: endpoint('GET /app/drive/files/:id', {
    summary: 'See a file or folder with the folders it lies in, and what you may do with it',
    scope: 'drive:read',
    on: 'file',
    inAnyStatus: true,
    reply: one(FilePlace),
    beyond: true,
  }),
  rows: endpoint('GET /app/drive/rows', {
    summary: 'List what lies directly in a folder, many rows at once',
    description: 'Like `GET /drive/files` with `parent_id`, 2,000 rows to a call: what a page sorts by itself.',
    scope: 'drive:read',
    within: 'workspace_id',
    query: {
      workspace_id: id.optional().describe('The workspace whose root is listed. Default: the personal one.'),
      parent_id: id.optional().describe('The folder that is listed, instead of a root.'),
      before: id
        .optional()
        .describe('Only what is older than the file or folder of this id: `next` of the rows before.'),
    },
    reply: one(FolderRows),
    errors: ['not_found', 'insufficient_role'],
    beyond: true,
  }),
  latest: endpoint('GET /app/drive/latest', {
    summary: 'List the files of your workspaces by when their content changed, the latest first',
    scope: 'drive:read',
    query: { workspace_id: id.optional().describe('Only those of this workspace.') },
    reply: page(DriveFile),
    beyond: true,
  }),
} as const
