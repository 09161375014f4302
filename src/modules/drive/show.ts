import type { z } from 'zod'
import { iso, isoOrNull } from '#core/time.ts'
import type { DriveFile } from './contract-file.ts'
import type { Upload } from './contract-uploads.ts'
import type { FileVersion } from './contract.ts'
import type { FileRow, FileVersionRow } from './store.ts'
import type { UploadRow } from './uploads/upload-store.ts'

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

export const showVersion = (row: FileVersionRow, present: number): z.output<typeof FileVersion> => ({
  id: row.id,
  file_id: row.file_id,
  version: row.version,
  size_bytes: Number(row.size_bytes),
  sha256: row.sha256,
  mime_type: row.mime_type,
  current: row.version === present,
  restored_from: row.restored_from,
  created_by: row.created_by,
  created_at: iso(row.created_at),
})

export const showUpload = (row: UploadRow): z.output<typeof Upload> => ({
  id: row.id,
  workspace_id: row.workspace_id,
  parent_id: row.parent_id,
  name: row.name,
  offset_bytes: Number(row.offset_bytes),
  length_bytes: row.length_bytes === null ? null : Number(row.length_bytes),
  status: row.file_id === null ? 'pending' : 'completed',
  file_id: row.file_id,
  expires_at: iso(row.expires_at),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

export const uploadHeaders = (row: UploadRow): Record<string, string> => ({
  'upload-offset': String(row.offset_bytes),
  'upload-expires': row.expires_at.toUTCString(),
  ...(row.length_bytes === null ? { 'upload-defer-length': '1' } : { 'upload-length': String(row.length_bytes) }),
  ...(row.metadata !== null && { 'upload-metadata': row.metadata }),
  ...(row.file_id !== null && { 'x-uk-file-id': row.file_id }),
})
