import { z } from 'zod'
import { area, bytes, deleted, endpoint, id, idOut, one, page, status, time, words } from '#core/contract.ts'
import { appEndpoints } from './contract-app.ts'
import { DriveFile, kind } from './contract-file.ts'
import { findingEndpoints } from './contract-finding.ts'
import { textEndpoints } from './contract-text.ts'
import { uploadEndpoints } from './contract-uploads.ts'

export { DriveFile } from './contract-file.ts'

export const FileVersion = z
  .object({
    id: idOut,
    file_id: idOut,
    version: z.number().int(),
    size_bytes: z.number().int(),
    sha256: z.string(),
    mime_type: z.string(),
    current: z.boolean().describe('Whether this is what the file holds now.'),
    restored_from: z.number().int().nullable().describe('The version whose bytes it brought back.'),
    created_by: idOut.nullable(),
    created_at: time,
  })
  .meta({ id: 'FileVersion' })

export const SignedUrl = z
  .object({
    id: idOut,
    created_at: time,
    url: z.string(),
    expires_at: time,
    method: z.literal('GET'),
    single_use: z.boolean(),
    disposition: z.enum(['inline', 'attachment']),
  })
  .meta({ id: 'SignedUrl' })

const version = z.coerce.number().int().min(1).max(2_147_483_647)
const expected = z.iso
  .datetime({ offset: true })
  .transform((words) => new Date(words))
  .meta({ override: { type: 'string', format: 'date-time' } })
  .optional()

const workspace = id.optional().describe('The workspace whose root it goes to; or give `parent_id`.')
const parent = id.optional().describe('The folder it goes into; or give `workspace_id`.')
const onConflict = z
  .enum(['fail', 'rename', 'version'])
  .default('fail')
  .describe(
    'When the name is taken: refuse with 409 `already_exists`, take `name (2).ext`, or make it a version of that file.',
  )
const content = z.string().max(32 << 20)
const encoding = z.enum(['utf8', 'base64']).default('utf8').describe('How `content` is written.')

export const drive = area(
  'drive',
  { title: 'Drive', summary: 'Files and folders of a workspace: bytes, versions, trash and links.' },
  {
    list: endpoint('GET /drive/files', {
      summary: 'List files and folders',
      example: { workspace_id: '01KAJ8R3T2M6QK5W9V0XBZC4DE' },
      description:
        'Newest first. With `parent_id` what lies directly in that folder; with `parent_id=root` and a workspace what lies at its root; without it everything.',
      scope: 'drive:read',
      query: {
        workspace_id: id.optional().describe('Only those of this workspace.'),
        parent_id: z
          .union([id, z.literal('root')])
          .optional()
          .describe('Only what lies directly in this folder, or at the `root`.'),
        kind: kind.optional().describe('Only files, or only folders.'),
        status: status.default('active').describe('Which of them to list. Nothing of the drive is ever `archived`.'),
      },
      reply: page(DriveFile),
    }),
    metadata: endpoint('GET /drive/files/:id/metadata', {
      summary: 'Read what is known of a file or folder',
      scope: 'drive:read',
      on: 'file',
      reply: one(DriveFile),
    }),
    download: endpoint('GET /drive/files/:id', {
      summary: 'Download the bytes of a file',
      description:
        'Streams; takes `Range`, `If-Range`, `If-None-Match`, `If-Modified-Since` and `If-Match`. The entity tag changes with the content only. A folder has no bytes: download its archive.',
      scope: 'drive:read',
      on: 'file',
      query: {
        version: version.optional().describe('The bytes of an earlier version.'),
        disposition: z.enum(['inline', 'attachment']).default('inline').describe('Whether a browser may show it.'),
      },
      reply: bytes,
      errors: ['invalid_state', 'precondition_failed', 'range_not_satisfiable'],
    }),
    ...textEndpoints,
    upload: endpoint('POST /drive/files', {
      summary: 'Upload a file',
      example: { workspace_id: '01KAJ8R3T2M6QK5W9V0XBZC4DE', name: 'hello.txt' },
      description:
        'As `multipart/form-data`: the fields first, then the part `file`, of any size. Or as JSON with `content`, or with `computer_source`: a file of a computer that you may read. 200 instead of 201 where it became a version of a file that was there.',
      scope: 'drive:write',
      takes: 'multipart',
      bodyLimit: 32 << 20,
      body: {
        workspace_id: workspace,
        parent_id: parent,
        name: words(1_024).optional().describe('Default: the file name of the part `file`, or of the source.'),
        mime_type: z.string().max(127).optional().describe('Used where neither bytes nor name tell.'),
        on_conflict: onConflict,
        content: content.optional().describe('The content, where no part `file` is sent.'),
        encoding,
        computer_source: z
          .strictObject({
            computer_id: id,
            path: words(12_400).pipe(z.string().regex(/^(file:\/\/)?\//, 'must be an absolute path')),
          })
          .optional()
          .describe(
            'A file of a computer, instead of bytes. It needs `computer:read` and the capability `fs_read` there.',
          ),
      },
      reply: one(DriveFile),
      status: 201,
      errors: [
        'missing_parameter',
        'already_exists',
        'storage_full',
        'payload_too_large',
        'invalid_state',
        'not_found',
        'insufficient_role',
      ],
    }),
    create_folder: endpoint('POST /drive/files/folders', {
      summary: 'Create a folder, or get the one of that name',
      example: { workspace_id: '01KAJ8R3T2M6QK5W9V0XBZC4DE', name: 'Letters' },
      description: '201 for a new one, 200 for one that was there.',
      scope: 'drive:write',
      body: { workspace_id: workspace, parent_id: parent, name: words(1_024) },
      reply: one(DriveFile),
      status: 201,
      errors: ['already_exists', 'invalid_state', 'not_found', 'insufficient_role'],
    }),
    update: endpoint('PATCH /drive/files/:id', {
      summary: 'Change the name or the content of a file',
      description:
        'With `expected_updated_at` only if nobody changed it meanwhile: it is compared with `content_updated_at` when only content is sent, else with `updated_at`; who loses gets 409 `stale_update` with the present values. `If-Match` with the entity tag of the bytes does the same, with 412.',
      scope: 'drive:write',
      on: 'file',
      onShare: 'edit',
      bodyLimit: 32 << 20,
      body: {
        name: words(1_024).optional(),
        content: content.optional().describe('The whole new content.'),
        encoding,
        expected_updated_at: expected,
      },
      reply: one(DriveFile),
      errors: ['stale_update', 'already_exists', 'storage_full', 'invalid_state'],
    }),
    trash: endpoint('DELETE /drive/files/:id', {
      summary: 'Move a file or folder to the trash',
      description: 'A folder goes with everything in it, and comes back with exactly that. Emptied after 30 days.',
      scope: 'drive:write',
      on: 'file',
      inAnyStatus: true,
      reply: deleted,
    }),
    restore: endpoint('POST /drive/files/:id/restore', {
      summary: 'Restore a file or folder from the trash',
      description:
        'Into the folder it lay in, or the root of the workspace where that is gone. A name that was taken meanwhile becomes `name (2).ext`.',
      scope: 'drive:write',
      on: 'file',
      inAnyStatus: true,
      reply: one(DriveFile),
    }),
    permanent_delete: endpoint('DELETE /drive/files/:id/permanent-delete', {
      summary: 'Delete a file or folder in the trash for good',
      scope: 'drive:write',
      consent: 'person',
      on: 'file',
      inAnyStatus: true,
      reply: deleted,
      errors: ['invalid_state'],
    }),
    move: endpoint('POST /drive/files/:id/move', {
      summary: 'Move a file or folder',
      description: 'A folder goes with all that is in it, also into another workspace.',
      scope: 'drive:write',
      on: 'file',
      body: {
        parent_id: id.nullable().describe('The folder it goes into; null is the root of a workspace.'),
        workspace_id: id
          .optional()
          .describe('The workspace whose root is meant where `parent_id` is null. Default: the one it lies in.'),
      },
      reply: one(DriveFile),
      errors: ['already_exists', 'invalid_state', 'storage_full'],
    }),
    signed_url: endpoint('POST /drive/files/:id/signed-url', {
      summary: 'Mint a link to the bytes of a file',
      description:
        'Its holder can read the current version without a key, until the link expires, the file is trashed, you lose access to the file, the key you made the link with is revoked or rotated, or the root key is rotated.',
      scope: 'drive:read',
      consent: 'person',
      on: 'file',
      onShare: 'none',
      body: {
        method: z.literal('GET').default('GET'),
        expires_in_seconds: z.number().int().min(1).max(604_800).default(900),
        single_use: z.boolean().default(false).describe('Holds for one GET.'),
        disposition: z.enum(['inline', 'attachment']).default('inline'),
      },
      reply: one(SignedUrl),
      errors: ['invalid_state'],
    }),
    content_versions: endpoint('GET /drive/files/:id/content-versions', {
      summary: 'List what a file held, newest first',
      description: 'The newest 200 are kept. Download one with `?version=`.',
      scope: 'drive:read',
      on: 'file',
      reply: page(FileVersion),
    }),
    restore_content_version: endpoint('POST /drive/files/:id/content-versions/restore', {
      summary: 'Bring back what a file held',
      description: 'As the newest version; those in between stay.',
      scope: 'drive:write',
      on: 'file',
      onShare: 'edit',
      body: {
        version: z.number().int().min(1).max(2_147_483_647).optional().describe('Its number; or give `version_id`.'),
        version_id: id.optional(),
        expected_updated_at: expected.describe('Compared with `content_updated_at`.'),
      },
      reply: one(DriveFile),
      errors: ['stale_update', 'invalid_state', 'storage_full'],
    }),
    copy: endpoint('POST /drive/files/:id/copy', {
      summary: 'Copy a file or folder',
      description: 'Independent of the original, its history starts anew. A name that is taken becomes `name (2).ext`.',
      scope: 'drive:write',
      on: 'file',
      onScope: 'drive:read',
      body: { workspace_id: workspace, parent_id: parent, name: words(1_024).optional() },
      reply: one(DriveFile),
      status: 201,
      errors: ['invalid_state', 'storage_full', 'limit_reached', 'missing_parameter'],
      beyond: true,
    }),
    archive: endpoint('GET /drive/files/:id/archive', {
      summary: 'Download a folder as a ZIP',
      description: 'Written while it is read; what changes meanwhile comes as it was.',
      scope: 'drive:read',
      on: 'file',
      reply: bytes,
      errors: ['limit_reached'],
      beyond: true,
    }),
    thumbnail: endpoint('GET /drive/files/:id/thumbnail', {
      summary: 'A small picture of a picture',
      description: 'WebP, as wide or high as `size` at most.',
      scope: 'drive:read',
      on: 'file',
      query: { size: z.enum(['128', '256', '512', '1024']).default('256').describe('In pixels.') },
      reply: bytes,
      errors: ['unsupported_media_type', 'unavailable'],
      beyond: true,
    }),
    ...uploadEndpoints,
    ...findingEndpoints,
    ...appEndpoints,
  },
)
