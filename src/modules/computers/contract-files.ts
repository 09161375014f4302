import { z } from 'zod'
import { resource } from '#core/access.ts'
import { bytes, endpoint, flag, id as idIn, one, pageOr, time, words } from '#core/contract.ts'

const path = words(12_400)
  .pipe(z.string().regex(/^(file:\/\/)?\//, 'must be an absolute path'))
  .meta({
    description:
      'An absolute path, such as `/home/ada/notes.txt`. If it isn’t valid UTF-8, use a `file:` URI with percent-encoded bytes (RFC 8089), as returned in `path`: `file:///home/ada/caf%E9`.',
    example: '/home/ada/notes.txt',
  })
const overwrite = flag.optional().describe('Whether to replace an existing file. Default: fail with `already_exists`.')
const mode = z.coerce
  .number()
  .int()
  .min(0)
  .max(0o777)
  .optional()
  .describe('The permission bits of a new file, before the umask. Replaced files keep theirs.')
const modified = time.optional().describe('The modification time to set. Default: now.')
const tag = words(64)
  .pipe(z.string().min(1))
  .optional()
  .describe('Identifies the content. An interrupted upload can be resumed only with the same value.')

export const ComputerFile = z
  .object({
    name: z.string(),
    path: z
      .string()
      .describe(
        'The identifier to use in requests: the path, or a `file:` URI with percent-encoded bytes if it isn’t valid UTF-8.',
      ),
    name_base64: z.string().nullable().describe('The raw bytes of the name, if it isn’t valid UTF-8.'),
    type: z.enum(['file', 'folder', 'symlink', 'other']),
    size_bytes: z.number().int(),
    mode: z.number().int().describe('The permission bits, as in chmod(2).'),
    owner: z.string().nullable(),
    modified_at: time,
    target: z.string().nullable().describe('The target of a symlink. `remove` never follows it.'),
  })
  .meta({ id: 'ComputerFile' })

export const RemovedFiles = z
  .object({ path: z.string(), removed: z.number().int().describe('The number of removed files and folders.') })
  .meta({ id: 'RemovedFiles' })

export const ComputerUpload = z
  .object({
    path: z.string(),
    offset: z.number().int().describe('How many bytes of the upload have arrived on the computer.'),
  })
  .meta({ id: 'ComputerUpload' })

export const fileEndpoints = {
  fs: endpoint('POST /computers/:id/fs', {
    summary: 'List, inspect, create or remove files and folders on a computer',
    description:
      '`list` returns a page sorted by the bytes of the names, `stat` one entry, `mkdir` the folder (with `parents`, its parent folders are created too), and `remove` the number of removed entries. Folders that aren’t empty are removed only with `recursive`. `list` and `stat` require `fs_read`; the others require `fs_write` and `computer:write`. Symlinks work as in `ls`, `mkdir` and `rm`: `stat` and `remove` apply to the link itself. `list` and links within a path are followed, but never outside the allowed folders.',
    access: resource('computer', { scope: 'computer:read', role: 'member' }),
    body: {
      op: z.enum(['list', 'stat', 'mkdir', 'remove']),
      path: path
        .optional()
        .describe(
          'An absolute path, or a `file:` URI as in `download`. Optional for `list` and `stat`: the default is the home of the user the daemon runs as, or the first folder allowed by `--root` if the home isn’t allowed.',
        ),
      recursive: flag.optional().describe('For `remove`.'),
      parents: flag.optional().describe('For `mkdir`.'),
      cursor: z.string().max(1_024).optional().describe('For `list`: the `next_cursor` of the previous page.'),
      limit: z.number().int().min(1).max(1_000).optional().describe('For `list`. Default: 25.'),
    },
    reply: pageOr(ComputerFile, z.union([ComputerFile, RemovedFiles])),
    errors: [
      'computer_offline',
      'timeout',
      'capability_denied',
      'already_exists',
      'invalid_state',
      'interrupted',
      'insufficient_role',
    ],
  }),
  download: endpoint('GET /computers/:id/fs/download', {
    summary: 'Download a file from a computer, or a folder as an archive',
    description:
      'Streams the file. Supports `Range`, `If-Range`, `If-None-Match`, `If-Modified-Since` and `If-Match`. If the computer is lost and reconnects within a minute, the download continues automatically. If the file changes in the meantime, it’s aborted. Symlinks are followed within the allowed folders. Files without a real size, such as those in `/proc`, are sent completely and without `Content-Length`.',
    access: resource('computer', { scope: 'computer:read', capability: 'fs_read' }),
    query: {
      path,
      archive: z
        .enum(['zip', 'tar'])
        .optional()
        .describe(
          'The archive format for a folder. A `zip` can be unpacked on every system: names that Windows or macOS don’t allow are changed. A `tar` keeps all names.',
        ),
    },
    reply: bytes,
    errors: [
      'computer_offline',
      'timeout',
      'stale_update',
      'precondition_failed',
      'range_not_satisfiable',
      'invalid_state',
    ],
  }),
  upload_offset: endpoint('GET /computers/:id/fs/upload', {
    summary: 'Get the progress of an upload to a computer',
    description: 'For your own interrupted upload to this path. `HEAD` returns the same in `Upload-Offset`.',
    access: resource('computer', { scope: 'computer:write', capability: 'fs_write' }),
    query: { path, tag },
    reply: one(ComputerUpload),
    errors: ['computer_offline', 'timeout'],
    beyond: true,
  }),
  upload: endpoint('POST /computers/:id/fs/upload', {
    summary: 'Upload a file to a computer',
    description:
      'Send the raw bytes with `path` in the query, or JSON with `path` and `drive_source`. The file appears at its path only when complete. With `overwrite`, symlinks are followed to targets within the allowed folders. A rejected upload leaves nothing behind. To resume an interrupted upload, get its progress and send the rest with `Content-Range: bytes FROM-TO/SIZE`. A different offset returns 409 `stale_update` with `details.offset`. `Content-Range: bytes */SIZE` without a body completes an upload whose bytes have all arrived. Parts before the last return 202 and the offset. Incomplete uploads are removed after 7 days without activity.',
    access: resource('computer', { scope: 'computer:write', capability: 'fs_write' }),
    takes: 'bytes_or_json',
    query: { path: path.optional(), overwrite, mode, modified_at: modified, tag },
    body: {
      path: path.optional(),
      overwrite,
      mode,
      modified_at: modified,
      drive_source: z.strictObject({ file_id: idIn }).optional().describe('A drive file to copy, instead of bytes.'),
    },
    headers: {
      content_range: z
        .string()
        .max(128)
        .optional()
        .describe('`bytes FROM-TO/SIZE`, to resume an upload. SIZE can be `*` until it’s known.'),
    },
    reply: one(z.union([ComputerFile, ComputerUpload])),
    status: 201,
    errors: [
      'computer_offline',
      'timeout',
      'stale_update',
      'already_exists',
      'storage_full',
      'invalid_state',
      'missing_parameter',
    ],
  }),
}
