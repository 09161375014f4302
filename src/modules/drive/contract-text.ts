import { z } from 'zod'
import { resource } from '#core/access.ts'
import { endpoint, idOut, one, time } from '#core/contract.ts'

export const FileText = z
  .object({
    id: idOut,
    created_at: time,
    lines: z.array(
      z.object({
        number: z.number().int().describe('From 1.'),
        text: z.string(),
        match: z.boolean().nullable().describe('Whether the pattern matches. Null without a pattern.'),
      }),
    ),
    total_lines: z.number().int().nullable(),
    truncated: z.boolean().describe('Whether there is more: further lines, further matches, or the rest of a line.'),
    encoding: z
      .string()
      .describe(
        'The file’s encoding, as named by the WHATWG Encoding Standard: `utf-8`, `utf-16le`, `gb18030`, `shift_jis`, `windows-1252`, … Downloads use the same.',
      ),
    extracted: z
      .boolean()
      .describe('Whether the lines are text extracted from a document, as counted by `/drive/grep`.'),
    reason: z
      .enum(['no_text', 'incomplete'])
      .nullable()
      .describe(
        'Why text of a document is missing: there is none (`no_text`, such as a scan), or part of it can’t be read as text (`incomplete`).',
      ),
    content_version: z.number().int().nullable(),
    content_updated_at: time.nullable().describe('Send it as `expected_updated_at` with a later edit.'),
  })
  .meta({ id: 'FileText' })

export const textEndpoints = {
  content: endpoint('GET /drive/files/:id/content', {
    summary: 'Read the text of a file',
    description:
      'Returns a page of lines, the `tail`, or the lines that match `pattern` with their context. The encoding is detected. For PDF and Office documents, returns the extracted text. Lines are cut off at 64 KiB and responses at 8 MiB. A pattern is searched in the first 512 MiB, for up to 30 seconds. If a limit is reached, `truncated` is true.',
    access: resource('file', { scope: 'drive:read' }),
    query: {
      offset: z.coerce
        .number()
        .int()
        .min(0)
        .default(0)
        .describe('Number of lines to skip. With a pattern: number of matching lines.'),
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(10_000)
        .default(2_000)
        .describe('Number of lines to return. With a pattern: number of matching lines.'),
      tail: z.coerce.number().int().min(1).max(10_000).optional().describe('Returns this many lines from the end.'),
      pattern: z
        .string()
        .min(1)
        .max(1_000)
        .optional()
        .describe('A regular expression in RE2 syntax, with up to 2,000 states.'),
      context: z.coerce
        .number()
        .int()
        .min(0)
        .max(100)
        .default(0)
        .describe('Number of context lines around each match.'),
      case: z
        .enum(['sensitive', 'insensitive', 'smart'])
        .default('sensitive')
        .describe('`smart` ignores case unless the pattern contains an uppercase letter.'),
    },
    reply: one(FileText),
    errors: ['invalid_pattern', 'unsupported_media_type', 'unavailable'],
  }),
}
