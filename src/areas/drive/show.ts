import type { z } from 'zod'
import { iso, isoOrNull } from '#kernel/time.ts'
import type { DriveFile } from './contract.ts'
import type { FileRow } from './store.ts'

export const showFile = (row: FileRow): z.output<typeof DriveFile> => ({
  id: row.id,
  workspace_id: row.workspace_id,
  created_by: row.created_by,
  name: row.name,
  path: row.path,
  kind: row.kind,
  parent_id: row.parent_id,
  mime_type: row.mime_type,
  size_bytes: row.size_bytes === null ? null : Number(row.size_bytes),
  sha256: row.sha256,
  content_version: row.kind === 'file' ? row.content_version : null,
  content_updated_at: isoOrNull(row.content_updated_at),
  status: row.status === 'trashed' ? 'trashed' : 'active',
  trashed_at: isoOrNull(row.trashed_at),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})
