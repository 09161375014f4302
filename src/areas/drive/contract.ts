import { z } from 'zod'
import {
  area,
  bytes,
  endpoint,
  id,
  idOut,
  inWorkspace,
  base,
  one,
  page,
  status,
  time,
  words,
} from '#kernel/contract.ts'

const kind = z.enum(['file', 'folder'])

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
      reply: bytes,
      errors: ['invalid_state', 'precondition_failed', 'range_not_satisfiable'],
    }),
    upload: endpoint('POST /drive/files', {
      summary: 'Upload a file',
      description:
        'As `multipart/form-data`: the fields first, then the part `file`, of any size. Or as JSON with `content`. 200 instead of 201 where it became a version of a file that was there.',
      scope: 'drive:write',
      takes: 'multipart',
      bodyLimit: 32 << 20,
      body: {
        workspace_id: workspace,
        parent_id: parent,
        name: words(1_024).optional().describe('Default: the file name of the part `file`.'),
        mime_type: z.string().max(127).optional().describe('Used where neither bytes nor name tell.'),
        on_conflict: onConflict,
        content: content.optional().describe('The content, where no part `file` is sent.'),
        encoding,
      },
      reply: one(DriveFile),
      status: 201,
      errors: [
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
      description: '201 for a new one, 200 for one that was there.',
      scope: 'drive:write',
      body: { workspace_id: workspace, parent_id: parent, name: words(1_024) },
      reply: one(DriveFile),
      status: 201,
      errors: ['already_exists', 'invalid_state', 'not_found', 'insufficient_role'],
    }),
  },
)
