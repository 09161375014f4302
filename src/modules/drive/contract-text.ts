import { z } from 'zod'
import { endpoint, idOut, one, time } from '#core/contract.ts'

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
    encoding: z
      .string()
      .describe(
        'The encoding of the file, as the WHATWG Encoding Standard names it: `utf-8`, `utf-16le`, `gb18030`, `shift_jis`, `windows-1252`, … A download says the same.',
      ),
    extracted: z
      .boolean()
      .describe('The lines are those of the text that was read out of a document, as `/drive/grep` counts them.'),
    reason: z
      .enum(['no_text', 'incomplete'])
      .nullable()
      .describe(
        'Why text of a document is missing: it has none (`no_text`, such as a scan), or a part of it can’t be read as text (`incomplete`).',
      ),
    content_version: z.number().int().nullable(),
    content_updated_at: time.nullable().describe('Goes into `expected_updated_at` of the edit that follows.'),
  })
  .meta({ id: 'FileText' })

export const textEndpoints = {
  content: endpoint('GET /drive/files/:id/content', {
    summary: 'Read the text of a file by lines',
    description:
      'A page of lines, its `tail`, or the lines with a `pattern` and what is around them. The encoding is detected; of PDF and Office documents the text that is read out of them. A line is cut at 64 KiB, an answer at 8 MiB; a pattern is searched in the first 512 MiB, for up to 30 seconds and a bounded amount of work. Beyond that `truncated` is true.',
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
    errors: ['invalid_pattern', 'unsupported_media_type', 'unavailable'],
  }),
}
