import { z } from 'zod'
import { endpoint, flag, id, idOut, words } from '#core/contract.ts'
import { DriveFile } from './contract-file.ts'

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
  .describe(
    'Files of this page that were not searched: `binary`, `too_large`, `too_slow` (the pattern takes too much work on this file), `not_indexed_yet`, `damaged`, `no_text` (a scan), …; or searched in part: `incomplete`.',
  )

export const findingEndpoints = {
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
    errors: ['invalid_pattern', 'unavailable'],
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
      glob: oneOrMore(1_000).optional().describe('Only files that these globs name, as in `/drive/glob`, up to 20.'),
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
    errors: ['invalid_pattern', 'unavailable'],
  }),
}
