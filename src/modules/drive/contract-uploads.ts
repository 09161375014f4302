import { z } from 'zod'
import { base, endpoint, idOut, none, one, time } from '#core/contract.ts'

/** The parts of tus that are spoken here (https://tus.io/protocols/resumable-upload). */
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
    offset_bytes: z.number().int().describe('So much has come.'),
    length_bytes: z.number().int().nullable(),
    status: z.enum(['pending', 'completed']),
    file_id: idOut.nullable().describe('The file that it became.'),
    expires_at: time,
  })
  .meta({ id: 'Upload' })

const size = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const tusResumable = z.string().optional().describe('The version of tus: `1.0.0`.')

export const uploadEndpoints = {
  begin_upload: endpoint('POST /drive/uploads', {
    summary: 'Begin a resumable upload',
    description:
      'By the tus protocol, 1.0.0, with creation, deferred length, expiration, termination and checksums: any tus client can go on with an upload that broke off, through any server process. `Upload-Metadata` names `workspace_id` or `parent_id`, `filename`, and may name `filetype` and `on_conflict`. `Location` says where the bytes go.',
    scope: 'drive:write',
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
    summary: 'How far a resumable upload has come',
    description: 'HEAD answers the same in the headers of tus.',
    scope: 'drive:read',
    on: 'upload',
    reply: one(Upload),
    capabilities: tusCapabilities,
    errors: ['content_expired'],
    beyond: true,
  }),
  append_upload: endpoint('PATCH /drive/uploads/:id', {
    summary: 'Send further bytes of a resumable upload',
    description:
      'As `application/offset+octet-stream`, from `Upload-Offset` on, which must be how far it has come. With the last bytes it becomes a file; `x-uk-file-id` names it.',
    scope: 'drive:write',
    on: 'upload',
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
    summary: 'Give up a resumable upload',
    scope: 'drive:write',
    consent: 'person',
    on: 'upload',
    inArchivedWorkspace: true,
    headers: { tus_resumable: tusResumable },
    reply: none,
    beyond: true,
  }),
}
