import { z } from 'zod'
import { base, idOut, time, words } from '#core/contract.ts'
import { CAPABILITIES } from '#core/scopes.ts'

export const computerName = words(120).pipe(z.string().trim().min(1))
export const capability = z.enum(CAPABILITIES)
export const capabilities = z
  .array(capability)
  .max(CAPABILITIES.length)
  .transform((capabilities) => CAPABILITIES.filter((one) => capabilities.includes(one)))
  .describe('The allowed capabilities.')

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
      .describe('Paired computers are always `running`, connected or not.'),
    connection: z
      .enum(['never_connected', 'online', 'offline'])
      .describe('`offline` after 45 seconds without a heartbeat.'),
    engine: z
      .enum(['absent', 'stopped', 'starting', 'ready', 'error'])
      .describe('The state of its engine for local models.'),
    last_seen_at: time.nullable(),
    allows: z
      .array(capability)
      .describe('The capabilities allowed by the computer’s owner, set on the computer itself.'),
    limits: z
      .object({
        cpu: z.number().nullable(),
        memory_mb: z.number().int().nullable(),
        processes: z.number().int().nullable(),
        enforced: z.boolean().describe('Whether CPU, memory and process limits are enforced.'),
        disk_mb: z.number().int().nullable(),
        disk_enforced: z
          .boolean()
          .describe(
            'Whether the kernel enforces the disk limit. If false, usage is measured, and a computer that exceeds the limit is stopped.',
          ),
      })
      .nullable(),
    lifecycle_reason: z.string().nullable().describe('Why a cloud computer is in `error`.'),
    driver: z.string().nullable(),
    image: z.string().nullable(),
    exposures: z.array(Exposed).describe('Workspaces that can use it. Only those visible to the caller.'),
    my_capabilities: z
      .array(capability)
      .describe('The caller’s capabilities, based on ownership or exposures, the computer’s settings, and scopes.'),
  })
  .meta({ id: 'Computer' })
