import { z } from 'zod'
import { byScope, resource } from '#core/access.ts'
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
    current: z.boolean().describe('Whether this is the current version.'),
    restored_from: z.number().int().nullable().describe('The version that was restored.'),
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

const workspace = id.optional().describe('The workspace whose root to use. Alternative to `parent_id`.')
const parent = id.optional().describe('The folder to use. Alternative to `workspace_id`.')
const onConflict = z
  .enum(['fail', 'rename', 'version'])
  .default('fail')
  .describe(
    'If the name exists: `fail` returns 409 `already_exists`, `rename` uses `name (2).ext`, `version` adds a version to the existing file.',
  )
const content = z.string().max(32 << 20)
const encoding = z.enum(['utf8', 'base64']).default('utf8').describe('The encoding of `content`.')

export const drive = area(
  'drive',
  { title: 'Drive', summary: 'Files and folders of a workspace, with versions, trash and links.' },
  {
    list: endpoint('GET /drive/files', {
      summary: 'List files and folders',
      example: { workspace_id: '01KAJ8R3T2M6QK5W9V0XBZC4DE' },
      description:
        'Newest first. With `parent_id`, lists the contents of that folder. With `parent_id=root` and a workspace, lists its root. Without it, lists everything.',
      access: byScope('drive:read'),
      query: {
        workspace_id: id.optional().describe('Only files in this workspace.'),
        parent_id: z
          .union([id, z.literal('root')])
          .optional()
          .describe('Only the direct contents of this folder, or of the `root`.'),
        kind: kind.optional().describe('Only files, or only folders.'),
        status: status.default('active').describe('Filters the list by status. Drive files are never `archived`.'),
      },
      reply: page(DriveFile),
    }),
    metadata: endpoint('GET /drive/files/:id/metadata', {
      summary: 'Get a file or folder',
      access: resource('file', { scope: 'drive:read' }),
      reply: one(DriveFile),
    }),
    download: endpoint('GET /drive/files/:id', {
      summary: 'Download a file',
      description:
        'Streams the file. Supports `Range`, `If-Range`, `If-None-Match`, `If-Modified-Since` and `If-Match`. The ETag changes only with the content. Folders have no content; download their archive instead.',
      access: resource('file', { scope: 'drive:read' }),
      query: {
        version: version.optional().describe('Downloads an earlier version.'),
        disposition: z
          .enum(['inline', 'attachment'])
          .default('inline')
          .describe('`inline` lets a browser display the file.'),
      },
      reply: bytes,
      errors: ['invalid_state', 'precondition_failed', 'range_not_satisfiable'],
    }),
    ...textEndpoints,
    upload: endpoint('POST /drive/files', {
      summary: 'Upload a file',
      example: { workspace_id: '01KAJ8R3T2M6QK5W9V0XBZC4DE', name: 'hello.txt' },
      description:
        'Send `multipart/form-data` with the fields first and then the part `file`, of any size. Or send JSON with `content`, or with `computer_source` for a file on a computer you can read. Returns 200 instead of 201 if a version was added to an existing file.',
      access: byScope('drive:write'),
      takes: 'multipart',
      bodyLimit: 32 << 20,
      body: {
        workspace_id: workspace,
        parent_id: parent,
        name: words(1_024).optional().describe('Default: the file name of the part `file` or of the source.'),
        mime_type: z
          .string()
          .max(127)
          .optional()
          .describe('Used if neither the content nor the name determines the type.'),
        on_conflict: onConflict,
        content: content.optional().describe('The content, if no part `file` is sent.'),
        encoding,
        computer_source: z
          .strictObject({
            computer_id: id,
            path: words(12_400).pipe(z.string().regex(/^(file:\/\/)?\//, 'must be an absolute path')),
          })
          .optional()
          .describe('A file on a computer, instead of bytes. Requires `computer:read` and the capability `fs_read`.'),
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
      summary: 'Create a folder, or get the existing one with that name',
      example: { workspace_id: '01KAJ8R3T2M6QK5W9V0XBZC4DE', name: 'Letters' },
      description: 'Returns 201 for a new folder, 200 for an existing one.',
      access: byScope('drive:write'),
      body: { workspace_id: workspace, parent_id: parent, name: words(1_024) },
      reply: one(DriveFile),
      status: 201,
      errors: ['already_exists', 'invalid_state', 'not_found', 'insufficient_role'],
    }),
    update: endpoint('PATCH /drive/files/:id', {
      summary: 'Update a file’s name or content',
      description:
        'With `expected_updated_at`, the update is made only if the file wasn’t changed in the meantime. The value is compared with `content_updated_at` if only content is sent, otherwise with `updated_at`. A mismatch returns 409 `stale_update` with the current values. `If-Match` with the ETag of the content works the same way and returns 412.',
      access: resource('file', { scope: 'drive:write', share: 'edit' }),
      bodyLimit: 32 << 20,
      body: {
        name: words(1_024).optional(),
        content: content.optional().describe('The complete new content.'),
        encoding,
        expected_updated_at: expected,
      },
      reply: one(DriveFile),
      errors: ['stale_update', 'already_exists', 'storage_full', 'invalid_state'],
    }),
    trash: endpoint('DELETE /drive/files/:id', {
      summary: 'Move a file or folder to the trash',
      description:
        'A folder is moved with all its contents, and restored with exactly those. The trash is emptied after 30 days.',
      access: resource('file', { scope: 'drive:write', inTrash: true }),
      reply: deleted,
    }),
    restore: endpoint('POST /drive/files/:id/restore', {
      summary: 'Restore a file or folder from the trash',
      description:
        'Restores to the original folder, or to the root of the workspace if that folder was deleted. If the name is taken, it becomes `name (2).ext`.',
      access: resource('file', { scope: 'drive:write', inTrash: true }),
      reply: one(DriveFile),
    }),
    permanent_delete: endpoint('DELETE /drive/files/:id/permanent-delete', {
      summary: 'Permanently delete a file or folder from the trash',
      access: resource('file', { scope: 'drive:write', inTrash: true }),
      consent: 'person',
      reply: deleted,
      errors: ['invalid_state'],
    }),
    move: endpoint('POST /drive/files/:id/move', {
      summary: 'Move a file or folder',
      description: 'A folder is moved with all its contents, also to another workspace.',
      access: resource('file', { scope: 'drive:write' }),
      body: {
        parent_id: id.nullable().describe('The target folder. Null: the root of a workspace.'),
        workspace_id: id
          .optional()
          .describe('The target workspace, if `parent_id` is null. Default: the current workspace.'),
      },
      reply: one(DriveFile),
      errors: ['already_exists', 'invalid_state', 'storage_full'],
    }),
    signed_url: endpoint('POST /drive/files/:id/signed-url', {
      summary: 'Create a link to a file',
      description:
        'Anyone with the link can read the current version without a key, until the link expires, the file is trashed, you lose access to the file, the key used to create the link is revoked or rotated, or the root key is rotated.',
      access: resource('file', { scope: 'drive:read', share: 'none' }),
      consent: 'person',
      body: {
        method: z.literal('GET').default('GET'),
        expires_in_seconds: z.number().int().min(1).max(604_800).default(900),
        single_use: z.boolean().default(false).describe('The link works for one GET request.'),
        disposition: z.enum(['inline', 'attachment']).default('inline'),
      },
      reply: one(SignedUrl),
      errors: ['invalid_state'],
    }),
    content_versions: endpoint('GET /drive/files/:id/content-versions', {
      summary: 'List the versions of a file, newest first',
      description: 'The newest 200 versions are kept. Download one with `?version=`.',
      access: resource('file', { scope: 'drive:read' }),
      reply: page(FileVersion),
    }),
    restore_content_version: endpoint('POST /drive/files/:id/content-versions/restore', {
      summary: 'Restore a version of a file',
      description: 'Adds it as the newest version. Later versions are kept.',
      access: resource('file', { scope: 'drive:write', share: 'edit' }),
      body: {
        version: z
          .number()
          .int()
          .min(1)
          .max(2_147_483_647)
          .optional()
          .describe('The version number. Alternative to `version_id`.'),
        version_id: id.optional(),
        expected_updated_at: expected.describe('Compared with `content_updated_at`.'),
      },
      reply: one(DriveFile),
      errors: ['stale_update', 'invalid_state', 'storage_full'],
    }),
    copy: endpoint('POST /drive/files/:id/copy', {
      summary: 'Copy a file or folder',
      description:
        'The copy is independent and starts a new version history. If the name is taken, it becomes `name (2).ext`.',
      access: resource('file', { scope: 'drive:write', resourceScope: 'drive:read' }),
      body: { workspace_id: workspace, parent_id: parent, name: words(1_024).optional() },
      reply: one(DriveFile),
      status: 201,
      errors: ['invalid_state', 'storage_full', 'limit_reached', 'missing_parameter'],
      beyond: true,
    }),
    archive: endpoint('GET /drive/files/:id/archive', {
      summary: 'Download a folder as a ZIP',
      description:
        'The archive is created while it’s downloaded. Files that change in the meantime are included as they were.',
      access: resource('file', { scope: 'drive:read' }),
      reply: bytes,
      errors: ['limit_reached'],
      beyond: true,
    }),
    thumbnail: endpoint('GET /drive/files/:id/thumbnail', {
      summary: 'Get a thumbnail of an image',
      description: 'WebP, with a width and height of up to `size` pixels.',
      access: resource('file', { scope: 'drive:read' }),
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
