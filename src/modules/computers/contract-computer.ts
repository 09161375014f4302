import { z } from 'zod'
import { base, idOut, time, words } from '#core/contract.ts'
import { CAPABILITIES } from '#core/scopes.ts'

export const computerName = words(120).pipe(z.string().trim().min(1))
export const capability = z.enum(CAPABILITIES)
export const capabilities = z
  .array(capability)
  .max(CAPABILITIES.length)
  .transform((given) => CAPABILITIES.filter((one) => given.includes(one)))
  .describe('What may be done with it.')

const Exposed = z.object({ workspace_id: idOut, capabilities: z.array(capability), created_at: time })

export const Computer = z
  .object({
    ...base,
    name: z.string(),
    kind: z.enum(['paired', 'cloud']),
    owner: z.object({ type: z.enum(['account', 'workspace']), id: idOut }),
    os: z.string().nullable(),
    arch: z.string().nullable(),
    hostname: z.string().nullable(),
    daemon_version: z.string().nullable(),
    lifecycle: z
      .enum(['provisioning', 'running', 'stopping', 'stopped', 'starting', 'error', 'deleted'])
      .describe('A paired computer is `running`, connected or not.'),
    connection: z
      .enum(['never_connected', 'online', 'offline'])
      .describe('`offline` after 45 seconds without a sign of life.'),
    engine: z.enum(['absent', 'stopped', 'starting', 'ready', 'error']).describe('Its engine for local models.'),
    last_seen_at: time.nullable(),
    allows: z.array(capability).describe('What the owner of the machine lets it do, as set on the machine itself.'),
    limits: z
      .object({
        cpu: z.number().nullable(),
        memory_mb: z.number().int().nullable(),
        processes: z.number().int().nullable(),
        enforced: z.boolean().describe('Of CPU, memory and processes.'),
        disk_mb: z.number().int().nullable(),
        disk_enforced: z
          .boolean()
          .describe('By the kernel. False: it is measured, and a computer that goes beyond it is ended.'),
      })
      .nullable(),
    lifecycle_reason: z.string().nullable().describe('Why a cloud computer is in `error`.'),
    driver: z.string().nullable(),
    image: z.string().nullable(),
    exposures: z.array(Exposed).describe('Workspaces that may use it, of those that the caller may know of.'),
    my_capabilities: z
      .array(capability)
      .describe('What the caller may do with it: by ownership or exposures, by what it allows, and by scopes.'),
  })
  .meta({ id: 'Computer' })
