import { z } from 'zod'
import { base, idOut, inWorkspace, time } from '#core/contract.ts'

export const kind = z.enum(['file', 'folder'])

export const DriveFile = z
  .object({
    ...base,
    ...inWorkspace,
    name: z.string(),
    path: z.string().describe('The names from the root of the workspace on, joined by `/`, without a leading one.'),
    kind,
    parent_id: idOut.nullable().describe('The folder it lies in; null is the root of the workspace.'),
    mime_type: z.string().nullable(),
    size_bytes: z.number().int().nullable(),
    sha256: z.string().nullable().describe('64 hex digits.'),
    content_version: z.number().int().nullable().describe('Counts up with every change of the content.'),
    content_updated_at: time.nullable(),
    status: z.enum(['active', 'trashed']),
    trashed_at: time.nullable(),
  })
  .meta({ id: 'File', description: 'A file or a folder. What only a file has is null for a folder.' })
