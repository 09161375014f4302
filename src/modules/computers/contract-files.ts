import { z } from 'zod'
import { bytes, endpoint, flag, id as idIn, one, pageOr, time, words } from '#core/contract.ts'

const path = words(12_400)
  .pipe(z.string().regex(/^(file:\/\/)?\//, 'must be an absolute path'))
  .meta({
    description:
      'Absolute, such as `/home/ada/notes.txt`. Where its bytes are not UTF-8, a `file:` URI with them percent-encoded (RFC 8089), as `path` of a row says it: `file:///home/ada/caf%E9`.',
    example: '/home/ada/notes.txt',
  })
const overwrite = flag.optional().describe('Replace the file that is there. Default: refuse with `already_exists`.')
const mode = z.coerce
  .number()
  .int()
  .min(0)
  .max(0o777)
  .optional()
  .describe('The permission bits of a file that was not there, before its umask. One that is replaced keeps its own.')
const modified = time.optional().describe('When it was changed, to be kept as such. Default: now.')
const tag = words(64)
  .pipe(z.string().min(1))
  .optional()
  .describe('Names the content that is sent: what was cut off goes on only with the same one.')

export const ComputerFile = z
  .object({
    name: z.string(),
    path: z
      .string()
      .describe('Names it in every call; a `file:` URI with percent-encoded bytes where they are not UTF-8.'),
    name_base64: z.string().nullable().describe('The bytes of the name where they are not UTF-8.'),
    type: z.enum(['file', 'folder', 'symlink', 'other']),
    size_bytes: z.number().int(),
    mode: z.number().int().describe('The permission bits, as of chmod(2).'),
    owner: z.string().nullable(),
    modified_at: time,
    target: z.string().nullable().describe('Where a symlink leads. It is shown, and never followed on remove.'),
  })
  .meta({ id: 'ComputerFile' })

export const RemovedFiles = z
  .object({ path: z.string(), removed: z.number().int().describe('Files and folders that are gone.') })
  .meta({ id: 'RemovedFiles' })

export const ComputerUpload = z
  .object({ path: z.string(), offset: z.number().int().describe('How much of the upload lies on the computer.') })
  .meta({ id: 'ComputerUpload' })

export const fileEndpoints = {
  fs: endpoint('POST /computers/:id/fs', {
    summary: 'List a folder of a computer, look at, make or remove something',
    description:
      '`list` answers a page, in the order of the bytes of the names; `stat` one row; `mkdir` the row of the folder, with `parents` also those above it; `remove` how much is gone, a folder that is not empty only with `recursive`. `list` and `stat` need `fs_read`, the others `fs_write` and `computer:write`. Symlinks work as in `ls`, `mkdir` and `rm`: `stat` and `remove` act on the link itself, `list` and a link in the middle of a path are followed, never out of the allowed folders.',
    scope: 'computer:read',
    on: 'computer',
    role: 'member',
    body: {
      op: z.enum(['list', 'stat', 'mkdir', 'remove']),
      path: path
        .optional()
        .describe(
          'Absolute, or a `file:` URI, as in `download`. Of `list` and `stat` it may be left out: then it is the home of the user that the daemon runs as, or the first folder that `--root` allows where the home is not among these.',
        ),
      recursive: flag.optional().describe('Of `remove`.'),
      parents: flag.optional().describe('Of `mkdir`.'),
      cursor: z.string().max(1_024).optional().describe('Of `list`: `next_cursor` of the page before.'),
      limit: z.number().int().min(1).max(1_000).optional().describe('Of `list`. Default 25.'),
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
    summary: 'Download a file of a computer, or a folder as an archive',
    description:
      'Streams; takes `Range`, `If-Range`, `If-None-Match`, `If-Modified-Since` and `If-Match`. Goes on by itself when the computer is lost and comes back within a minute; a file that is changed meanwhile breaks it off. A symlink is followed within the allowed folders. A file without a true size, such as those in `/proc`, comes whole and without `Content-Length`.',
    scope: 'computer:read',
    on: 'computer',
    capability: 'fs_read',
    query: {
      path,
      archive: z
        .enum(['zip', 'tar'])
        .optional()
        .describe(
          'The format for a folder. A `zip` unpacks on every system: names that Windows or macOS refuse are changed in it. A `tar` keeps all names.',
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
    summary: 'How far an upload to a computer has come',
    description: 'Of your own upload to this path that broke off. HEAD answers it too, in `Upload-Offset`.',
    scope: 'computer:write',
    on: 'computer',
    capability: 'fs_write',
    query: { path, tag },
    reply: one(ComputerUpload),
    errors: ['computer_offline', 'timeout'],
    beyond: true,
  }),
  upload: endpoint('POST /computers/:id/fs/upload', {
    summary: 'Upload a file to a computer',
    description:
      'The raw bytes, with `path` in the query; or, without a query, JSON with `path` and `drive_source`. The file stands in its place only once it is whole. A symlink is written through with `overwrite`, to a target within the allowed folders. An upload that is refused leaves nothing on the computer. After a cut, ask how far it has come and send the rest with `Content-Range: bytes FROM-TO/SIZE`; another offset is 409 `stale_update` with `details.offset`. `Content-Range: bytes */SIZE` without a body ends one of which all has come. A part that is not the last is answered with 202 and the offset; what nobody goes on with for seven days is removed.',
    scope: 'computer:write',
    on: 'computer',
    capability: 'fs_write',
    takes: 'bytes_or_json',
    query: { path: path.optional(), overwrite, mode, modified_at: modified, tag },
    body: {
      path: path.optional(),
      overwrite,
      mode,
      modified_at: modified,
      drive_source: z.strictObject({ file_id: idIn }).optional().describe('A file on the drive, instead of bytes.'),
    },
    headers: {
      content_range: z
        .string()
        .max(128)
        .optional()
        .describe('`bytes FROM-TO/SIZE`, to go on after a cut; SIZE may be `*` until it is known.'),
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
