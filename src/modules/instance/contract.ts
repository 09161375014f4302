import { z } from 'zod'
import { area, endpoint, idOut, one, time } from '#core/contract.ts'

const bytes = z.number().int().describe('Bytes.')

export const Instance = z
  .object({
    id: idOut,
    created_at: time.describe('Of its first account.'),
    versions: z.object({ program: z.string(), api: z.string(), node: z.string(), postgres: z.string() }),
    processes: z.number().int().describe('Server processes that are running.'),
    accounts: z.number().int(),
    storage: z.object({
      database_bytes: bytes,
      embedded: z.boolean().describe('The database is the one that the server brings.'),
      files: z.number().int().describe('Contents of files, each counted once.'),
      file_bytes: bytes,
      counted_at: time.describe('When files were counted: where there are very many, within ten minutes.'),
      blobs: z.string().describe('`file:`, or the bucket that they lie in.'),
    }),
    queue: z.object({
      waiting: z.number().int().describe('Jobs whose time has come, and those for later.'),
      running: z.number().int(),
      late: z.number().int().describe('They should have been begun five minutes ago.'),
      failed: z.number().int().describe('Given up.'),
    }),
    last_backup: z.object({ at: time, where: z.string() }).nullable().describe('Null: none was made.'),
    mail: z.boolean().describe('Whether it can send mail.'),
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
          .describe('`fail` must be mended, `warn` should be looked at, `off` is not set up.'),
        message: z.string(),
        advice: z.string().nullable().describe('What would help.'),
      }),
    ),
  })
  .meta({ id: 'InstanceChecks' })

export const instance = area(
  'instance',
  { title: 'Instance', summary: 'For the administrator: how the instance does.' },
  {
    get: endpoint('GET /app/instance', {
      summary: 'Versions, storage, queue and backups of this instance',
      scope: null,
      auth: 'session',
      reply: one(Instance),
      beyond: true,
    }),
    check: endpoint('POST /app/instance/checks', {
      summary: 'Look whether everything works, as `uk doctor` does',
      description:
        'It asks the database, the mail server and the public URL, and writes, reads and removes some bytes.',
      scope: null,
      auth: 'session',
      reply: one(Checks),
      beyond: true,
    }),
  },
)
