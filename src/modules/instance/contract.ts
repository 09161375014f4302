import { z } from 'zod'
import { session } from '#core/access.ts'
import { area, endpoint, idOut, one, time } from '#core/contract.ts'

const bytes = z.number().int().describe('Bytes.')

export const Instance = z
  .object({
    id: idOut,
    created_at: time.describe('When the first account was created.'),
    versions: z.object({ program: z.string(), api: z.string(), node: z.string(), postgres: z.string() }),
    processes: z.number().int().describe('The number of running server processes.'),
    accounts: z.number().int(),
    storage: z.object({
      database_bytes: bytes,
      embedded: z.boolean().describe('Whether the database is the embedded PostgreSQL.'),
      files: z.number().int().describe('The size of stored file contents, each counted once.'),
      file_bytes: bytes,
      counted_at: time.describe(
        'When file sizes were last computed. For very many files, this can be up to 10 minutes ago.',
      ),
      blobs: z.string().describe('`file:`, or the name of the bucket.'),
    }),
    queue: z.object({
      waiting: z.number().int().describe('Jobs that are due, and jobs scheduled for later.'),
      running: z.number().int(),
      late: z.number().int().describe('Jobs that are more than 5 minutes overdue.'),
      failed: z.number().int().describe('Jobs that failed permanently.'),
    }),
    last_backup: z.object({ at: time, where: z.string() }).nullable().describe('Null: there is no backup.'),
    mail: z.boolean().describe('Whether the server can send email.'),
    identity_provider: z.string().nullable(),
    sign_up: z.enum(['open', 'invite']),
  })
  .meta({ id: 'Instance' })

export const Checks = z
  .object({
    id: idOut,
    created_at: time,
    checks: z.array(
      z.object({
        name: z.string(),
        status: z
          .enum(['ok', 'off', 'warn', 'fail'])
          .describe('`fail` must be fixed, `warn` should be checked, `off` isn’t set up.'),
        message: z.string(),
        advice: z.string().nullable().describe('How to fix it.'),
      }),
    ),
  })
  .meta({ id: 'InstanceChecks' })

export const instance = area(
  'instance',
  { title: 'Instance', summary: 'The health of the instance, for administrators.' },
  {
    get: endpoint('GET /app/instance', {
      summary: 'Get versions, storage, queue and backups of the instance',
      access: session(),
      reply: one(Instance),
      beyond: true,
    }),
    check: endpoint('POST /app/instance/checks', {
      summary: 'Check the health of the instance, like `uk doctor`',
      description: 'Tests the database, the mail server and the public URL, and writes, reads and deletes a test file.',
      access: session(),
      reply: one(Checks),
      beyond: true,
    }),
  },
)
