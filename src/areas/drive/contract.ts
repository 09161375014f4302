import { z } from 'zod'
import {
  area,
  bytes,
  deleted,
  endpoint,
  flag,
  id,
  idOut,
  inWorkspace,
  base,
  one,
  none,
  page,
  status,
  time,
  words,
} from '#kernel/contract.ts'

/** What of tus is spoken here (https://tus.io/protocols/resumable-upload). */
export const TUS = '1.0.0'
const tusCapabilities = {
  'tus-resumable': TUS,
  'tus-version': TUS,
  'tus-extension': 'creation,creation-defer-length,expiration,termination,checksum',
  'tus-checksum-algorithm': 'sha1,sha256,md5',
}

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

export const FileText = z
  .object({
    id: idOut,
    created_at: time,
    lines: z.array(
      z.object({
        number: z.number().int().describe('From 1.'),
        text: z.string(),
        match: z.boolean().nullable().describe('Whether the pattern is in it; null without a pattern.'),
      }),
    ),
    total_lines: z.number().int().nullable(),
    truncated: z
      .boolean()
      .describe('Whether there is more than is shown: lines after these, matches after these, or the rest of a line.'),
    encoding: z.string().describe('How the file is written: `utf-8`, `utf-16le`, `utf-16be` or `windows-1252`.'),
    content_version: z.number().int().nullable(),
    content_updated_at: time.nullable().describe('Goes into `expected_updated_at` of the edit that follows.'),
  })
  .meta({ id: 'FileText' })

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

const workspaceOnly = id.optional().describe('Only in this workspace.')
const oneOrMore = (most: number) =>
  z.union([z.string().min(1).max(most), z.array(z.string().min(1).max(most)).min(1).max(20)])
const within = words(4_096).optional().describe('Only below this folder, as `path` shows it.')

export const GrepRow = z
  .object({
    file_id: idOut,
    workspace_id: idOut,
    path: z.string(),
    line: z.number().int().optional().describe('From 1. Mode `content` only, as are the next four.'),
    column: z.number().int().optional().describe('Where the first match begins: bytes, from 1.'),
    text: z.string().optional().describe('The line, of a very long one the first 10,000 characters.'),
    before: z.array(z.string()).optional(),
    after: z.array(z.string()).optional(),
    count: z.number().int().optional().describe('How many lines match. Mode `count`; in mode `files` 1.'),
  })
  .meta({ id: 'GrepRow' })

const skippedFiles = z
  .array(z.object({ file_id: idOut, path: z.string(), reason: z.string() }))
  .describe('Files of this page that were not searched: `binary`, `too_large`, `not_indexed_yet`, `damaged`, …')

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
      query: {
        version: version.optional().describe('The bytes of an earlier version.'),
        disposition: z.enum(['inline', 'attachment']).default('inline').describe('Whether a browser may show it.'),
      },
      reply: bytes,
      errors: ['invalid_state', 'precondition_failed', 'range_not_satisfiable'],
    }),
    content: endpoint('GET /drive/files/:id/content', {
      summary: 'Read the text of a file by lines',
      description:
        'A page of lines, its `tail`, or the lines with a `pattern` and what is around them. UTF-8, UTF-16 with its mark, else Windows-1252. A line is cut at 64 KiB, an answer at 8 MiB; a pattern is looked for in the first 512 MiB.',
      scope: 'drive:read',
      on: 'file',
      query: {
        offset: z.coerce
          .number()
          .int()
          .min(0)
          .default(0)
          .describe('Lines to skip; with a pattern, lines that match to skip.'),
        limit: z.coerce
          .number()
          .int()
          .min(1)
          .max(10_000)
          .default(2_000)
          .describe('How many lines; with a pattern, how many that match.'),
        tail: z.coerce.number().int().min(1).max(10_000).optional().describe('So many of the last lines.'),
        pattern: z
          .string()
          .min(1)
          .max(1_000)
          .optional()
          .describe('A regular expression in the syntax of RE2, of 2,000 states at most.'),
        context: z.coerce.number().int().min(0).max(100).default(0).describe('Lines around each that matches.'),
        case: z
          .enum(['sensitive', 'insensitive', 'smart'])
          .default('sensitive')
          .describe('`smart`: insensitive unless the pattern has a capital.'),
      },
      reply: one(FileText),
      errors: ['invalid_pattern', 'unsupported_media_type'],
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
      on: 'file',
      inAnyStatus: true,
      reply: deleted,
      errors: ['invalid_state'],
    }),
    move: endpoint('POST /drive/files/:id/move', {
      summary: 'Move a file or folder',
      description: 'A folder goes with all that is in it, also into a folder of another workspace.',
      scope: 'drive:write',
      on: 'file',
      body: { parent_id: id.nullable().describe('The folder it goes into; null is the root of its workspace.') },
      reply: one(DriveFile),
      errors: ['already_exists', 'invalid_state', 'storage_full'],
    }),
    signed_url: endpoint('POST /drive/files/:id/signed-url', {
      summary: 'Mint a link to the bytes of a file',
      description:
        'Whoever has it may read them, without a key, until it expires, the file is trashed, or the root key is rotated.',
      scope: 'drive:read',
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
      on: 'upload',
      headers: { tus_resumable: tusResumable },
      reply: none,
      beyond: true,
    }),
    glob: endpoint('GET /drive/glob', {
      summary: 'Find files by a glob pattern',
      description:
        'In your workspaces and what is shared with you, in the order of paths. `*` and `?` stay within a name, `**` crosses folders; `[a-z]`, `[!a-z]`, `{a,b}`, `\\` before a character takes it as it is. Without a slash a glob names things at any depth, with one it is held against the whole path. Several are taken as ripgrep takes `-g`: the last that matches decides, `!` in front takes out.',
      scope: 'drive:read',
      limit: 'searches',
      query: {
        pattern: oneOrMore(1_000).describe('May come several times.'),
        path: within,
        workspace_id: workspaceOnly,
        type: z.enum(['file', 'folder', 'any']).default('file'),
        case: z.enum(['sensitive', 'insensitive', 'smart']).default('sensitive'),
      },
      reply: { kind: 'page', of: DriveFile, extra: { truncated: z.boolean() } },
      errors: ['invalid_pattern'],
    }),
    grep: endpoint('GET /drive/grep', {
      summary: 'Search the contents of files by a regular expression',
      description:
        'RE2 syntax, in time linear in the text. In your workspaces and what is shared with you, in the order of paths; line by line unless `multiline`. Text of PDF and Office documents is searched as it was extracted. Finds are those of ripgrep, except that `\\b` knows only the word characters of ASCII.',
      scope: 'drive:read',
      limit: 'searches',
      query: {
        pattern: z.string().min(1).max(1_000),
        mode: z
          .enum(['content', 'files', 'count'])
          .default('content')
          .describe('Lines, or the files that have some, or how many lines each has.'),
        path: within,
        glob: oneOrMore(1_000).optional().describe('Only files that these globs name, as in `/drive/glob`.'),
        workspace_id: workspaceOnly,
        type: z
          .union([z.string().max(40), z.array(z.string().max(40)).max(20)])
          .optional()
          .describe('Only files of these types, as `rg --type-list` names them: `ts`, `py`, `md`.'),
        case: z
          .enum(['sensitive', 'insensitive', 'smart'])
          .default('sensitive')
          .describe('`smart` ignores case unless the pattern holds a capital letter.'),
        before: z.coerce.number().int().min(0).max(50).default(0).describe('Lines to show before each match.'),
        after: z.coerce.number().int().min(0).max(50).default(0),
        multiline: flag.default(false).describe('A match may run over several lines.'),
        fixed: flag.default(false).describe('The pattern is plain text.'),
        totals: flag.default(false).describe('Search everything in this call and tell how much there is in all.'),
      },
      reply: {
        kind: 'page',
        of: GrepRow,
        extra: {
          truncated: z.boolean().describe('The time for one call was up: the next page goes on from there.'),
          skipped_files: skippedFiles,
          totals: z.object({ files: z.number().int(), count: z.number().int() }).nullable(),
        },
      },
      errors: ['invalid_pattern'],
    }),
  },
)
