import { z } from 'zod'
import { base, idOut, workspaceFields, time } from '#core/contract.ts'

export const kind = z.enum(['file', 'folder'])

export const DriveFile = z
  .object({
    ...base,
    ...workspaceFields,
    name: z.string(),
    path: z.string().describe('The path from the root of the workspace, with `/` between names and no leading `/`.'),
    kind,
    parent_id: idOut.nullable().describe('The parent folder. Null: the root of the workspace.'),
    mime_type: z.string().nullable(),
    size_bytes: z.number().int().nullable(),
    sha256: z.string().nullable().describe('64 hex digits.'),
    content_version: z.number().int().nullable().describe('Increases with every change of the content.'),
    content_updated_at: time.nullable(),
    status: z.enum(['active', 'trashed']),
    trashed_at: time.nullable(),
  })
  .meta({ id: 'File', description: 'A file or a folder. Fields that only files have are null for folders.' })
