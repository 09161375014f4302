import { z } from 'zod'
import { byScope } from '#core/access.ts'
import { endpoint, flag, id, idOut, words } from '#core/contract.ts'
import { DriveFile } from './contract-file.ts'

const workspaceOnly = id.optional().describe('Only in this workspace.')
const oneOrMore = (most: number) =>
  z.union([z.string().min(1).max(most), z.array(z.string().min(1).max(most)).min(1).max(20)])
const within = words(4_096).optional().describe('Only in this folder, as in `path`.')

export const GrepRow = z
  .object({
    file_id: idOut,
    workspace_id: idOut,
    path: z.string(),
    line: z
      .number()
      .int()
      .optional()
      .describe('The line number, starting at 1. Only in mode `content`, like the next four fields.'),
    column: z.number().int().optional().describe('The byte position of the first match in the line, starting at 1.'),
    text: z.string().optional().describe('The line. Only the first 10,000 characters of a long line.'),
    before: z.array(z.string()).optional(),
    after: z.array(z.string()).optional(),
    count: z.number().int().optional().describe('The number of matching lines in mode `count`. In mode `files`: 1.'),
  })
  .meta({ id: 'GrepRow' })

const skippedFiles = z
  .array(z.object({ file_id: idOut, path: z.string(), reason: z.string() }))
  .describe(
    'Files on this page that weren’t searched: `binary`, `too_large`, `too_slow` (the pattern takes too long on this file), `not_indexed_yet`, `damaged`, `no_text` (a scan), …; or searched only partly: `incomplete`.',
  )

export const findingEndpoints = {
  glob: endpoint('GET /drive/glob', {
    summary: 'Find files by a glob pattern',
    description:
      'Searches your workspaces and files shared with you, sorted by path. `*` and `?` match within a name, and `**` across folders. `[a-z]`, `[!a-z]` and `{a,b}` are supported; `\\` escapes a character. A glob without a slash matches names at any depth; a glob with a slash matches the whole path. Several globs work like ripgrep’s `-g`: the last match decides, and `!` excludes.',
    access: byScope('drive:read'),
    limit: 'searches',
    query: {
      pattern: oneOrMore(1_000).describe('Repeatable.'),
      path: within,
      workspace_id: workspaceOnly,
      type: z.enum(['file', 'folder', 'any']).default('file'),
      case: z.enum(['sensitive', 'insensitive', 'smart']).default('sensitive'),
    },
    reply: { kind: 'page', of: DriveFile, extra: { truncated: z.boolean() } },
    errors: ['invalid_pattern', 'unavailable'],
  }),
  grep: endpoint('GET /drive/grep', {
    summary: 'Search the contents of files by a regular expression',
    description:
      'RE2 syntax, in linear time. Searches your workspaces and files shared with you, sorted by path, line by line unless `multiline` is set. For PDF and Office documents, the extracted text is searched. Results match ripgrep’s, except that `\\b` recognizes only ASCII word characters.',
    access: byScope('drive:read'),
    limit: 'searches',
    query: {
      pattern: z.string().min(1).max(1_000),
      mode: z
        .enum(['content', 'files', 'count'])
        .default('content')
        .describe('Returns matching lines, matching files, or the number of matching lines per file.'),
      path: within,
      glob: oneOrMore(1_000).optional().describe('Only files that match these globs, as in `/drive/glob`, up to 20.'),
      workspace_id: workspaceOnly,
      type: z
        .union([z.string().max(40), z.array(z.string().max(40)).max(20)])
        .optional()
        .describe('Only files of these types, named as in `rg --type-list`: `ts`, `py`, `md`.'),
      case: z
        .enum(['sensitive', 'insensitive', 'smart'])
        .default('sensitive')
        .describe('`smart` ignores case unless the pattern contains an uppercase letter.'),
      before: z.coerce.number().int().min(0).max(50).default(0).describe('Number of lines to show before each match.'),
      after: z.coerce.number().int().min(0).max(50).default(0),
      multiline: flag.default(false).describe('Lets a match span several lines.'),
      fixed: flag.default(false).describe('Treats the pattern as plain text.'),
      totals: flag.default(false).describe('Searches everything in this request and returns the totals.'),
    },
    reply: {
      kind: 'page',
      of: GrepRow,
      extra: {
        truncated: z
          .boolean()
          .describe('The time limit of the request was reached. The next page continues from there.'),
        skipped_files: skippedFiles,
        totals: z.object({ files: z.number().int(), count: z.number().int() }).nullable(),
      },
    },
    errors: ['invalid_pattern', 'unavailable'],
  }),
}
