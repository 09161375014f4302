import { z } from 'zod'
import { byScope, resource } from '#core/access.ts'
import { base, endpoint, idOut, none, one, time } from '#core/contract.ts'

/** The supported parts of tus (https://tus.io/protocols/resumable-upload). */
export const TUS = '1.0.0'
const tusCapabilities = {
  'tus-resumable': TUS,
  'tus-version': TUS,
  'tus-extension': 'creation,creation-defer-length,expiration,termination,checksum',
  'tus-checksum-algorithm': 'sha1,sha256,md5',
}

export const Upload = z
  .object({
    ...base,
    workspace_id: idOut,
    parent_id: idOut.nullable(),
    name: z.string(),
    offset_bytes: z.number().int().describe('The number of bytes received.'),
    length_bytes: z.number().int().nullable(),
    status: z.enum(['pending', 'completed']),
    file_id: idOut.nullable().describe('The resulting file.'),
    expires_at: time,
  })
  .meta({ id: 'Upload' })

const size = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const tusResumable = z.string().optional().describe('The tus version: `1.0.0`.')

export const uploadEndpoints = {
  begin_upload: endpoint('POST /drive/uploads', {
    summary: 'Start a resumable upload',
    description:
      'Uses the tus protocol 1.0.0 with creation, deferred length, expiration, termination and checksums. Any tus client can resume an interrupted upload. `Upload-Metadata` must include `filename` and `workspace_id` or `parent_id`, and can include `filetype` and `on_conflict`. `Location` is the URL for the bytes.',
    access: byScope('drive:write'),
    headers: {
      tus_resumable: tusResumable,
      upload_length: size.optional(),
      upload_defer_length: z.string().optional(),
      upload_metadata: z.string().max(16_384).optional(),
    },
    reply: none,
    status: 201,
    capabilities: tusCapabilities,
    errors: [
      'invalid_parameter',
      'precondition_failed',
      'storage_full',
      'limit_reached',
      'not_found',
      'already_exists',
    ],
    beyond: true,
  }),
  get_upload: endpoint('GET /drive/uploads/:id', {
    summary: 'Get the progress of a resumable upload',
    description: '`HEAD` returns the same in tus headers.',
    access: resource('upload', { scope: 'drive:read' }),
    reply: one(Upload),
    capabilities: tusCapabilities,
    errors: ['content_expired'],
    beyond: true,
  }),
  append_upload: endpoint('PATCH /drive/uploads/:id', {
    summary: 'Send bytes of a resumable upload',
    description:
      'Send `application/offset+octet-stream` with `Upload-Offset` equal to the upload’s progress. The last bytes turn the upload into a file, named by `x-uk-file-id`.',
    access: resource('upload', { scope: 'drive:write' }),
    takes: 'bytes',
    bytesAre: 'application/offset+octet-stream',
    headers: {
      tus_resumable: tusResumable,
      upload_offset: size.optional(),
      upload_length: size.optional(),
      upload_checksum: z.string().max(256).optional(),
    },
    reply: none,
    errors: [
      'stale_update',
      'checksum_mismatch',
      'content_expired',
      'unsupported_media_type',
      'already_exists',
      'storage_full',
    ],
    beyond: true,
  }),
  terminate_upload: endpoint('DELETE /drive/uploads/:id', {
    summary: 'Cancel a resumable upload',
    access: resource('upload', { scope: 'drive:write', inArchivedWorkspace: true }),
    consent: 'person',
    headers: { tus_resumable: tusResumable },
    reply: none,
    beyond: true,
  }),
}
