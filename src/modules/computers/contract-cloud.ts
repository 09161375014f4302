import { z } from 'zod'
import { byScope, inWorkspace, resource } from '#core/access.ts'
import { area, base, deleted, endpoint, id, idOut, one, operation, page, words, workspaceId } from '#core/contract.ts'
import { Computer, computerName } from './contract-computer.ts'

const network = z.enum(['none', 'internet'])

export const ComputerDriver = z
  .object({
    driver: z
      .string()
      .describe('`bubblewrap`: a sandbox on the host system. `docker`: a container, with Docker or Podman.'),
    available: z.boolean(),
    reason: z.string().nullable().describe('Why the driver isn’t available, or what it can’t do here.'),
    images: z.array(z.string()),
    network: z.array(network),
    limits_enforced: z
      .boolean()
      .describe('Whether CPU, memory and process limits are enforced. If false, `reason` says which are.'),
    disk_limits_enforced: z
      .boolean()
      .describe(
        'Whether the kernel enforces `disk_mb`. If false, usage is measured every few seconds, and a computer that exceeds the limit is stopped with the status `error` and a reason.',
      ),
  })
  .meta({ id: 'ComputerDriver' })

export const ComputerSnapshot = z
  .object({
    ...base,
    workspace_id: idOut,
    computer_id: idOut,
    computer_name: z.string(),
    name: z.string().nullable(),
    status: z.enum(['creating', 'ready', 'failed']).describe('`ready` after the snapshot was verified.'),
    size_bytes: z.number().int().nullable().describe('The compressed size.'),
    home_bytes: z
      .number()
      .int()
      .nullable()
      .describe('The size of a home restored from it. Null: an older snapshot without this information.'),
    entries: z.number().int().nullable().describe('The number of files and folders.'),
    sha256: z.string().nullable(),
  })
  .meta({ id: 'ComputerSnapshot' })

export const cloudEndpoints = {
  start: endpoint('POST /computers/:id/start', {
    summary: 'Start a cloud computer',
    description:
      'Starts a computer that is stopped or in `error`. It’s `starting` until its daemon connects. Paired computers can’t be started remotely: 409 `not_supported`.',
    access: resource('computer', { scope: 'computer:write' }),
    reply: one(Computer),
    errors: ['not_supported', 'invalid_state'],
  }),
  stop: endpoint('POST /computers/:id/stop', {
    summary: 'Stop a cloud computer',
    description:
      'Terminates everything that runs on it and keeps its home. Possible in every state except `provisioning` without a home. Paired computers can’t be stopped remotely: 409 `not_supported`.',
    access: resource('computer', { scope: 'computer:write' }),
    reply: one(Computer),
    errors: ['not_supported', 'invalid_state'],
  }),
  snapshot: endpoint('POST /computers/:id/snapshots', {
    summary: 'Create a snapshot of a cloud computer’s home',
    description:
      'Returns an operation whose result is the snapshot. A running computer is paused while its home is read. The snapshot is ready once it was verified completely. It’s kept when the computer is deleted.',
    access: resource('computer', { scope: 'computer:write' }),
    body: { name: words(120).nullable().default(null) },
    reply: operation(ComputerSnapshot),
    errors: ['not_supported', 'invalid_state'],
    beyond: true,
  }),
  snapshots: endpoint('GET /computers/:id/snapshots', {
    summary: 'List the snapshots of a cloud computer, newest first',
    access: resource('computer', { scope: 'computer:read' }),
    reply: page(ComputerSnapshot),
    beyond: true,
  }),
} as const

export const cloudComputers = area(
  'cloud_computers',
  { title: 'Cloud computers', summary: 'Computers created by this instance, isolated from its host.' },
  {
    drivers: endpoint('GET /app/computer-drivers', {
      summary: 'List the drivers for cloud computers',
      access: byScope('computer:read'),
      reply: page(ComputerDriver),
      beyond: true,
    }),
    create: endpoint('POST /app/computers', {
      summary: 'Create a cloud computer',
      description:
        'Returns an operation whose result is the computer, once it runs and its daemon is connected. You can then use commands, terminals, files and ports as on any computer.',
      access: inWorkspace('computer:write'),
      body: {
        workspace_id: workspaceId,
        name: computerName,
        driver: z.string().max(40).optional().describe('Default: the first available driver.'),
        image: words(255).optional().describe('Default: the driver’s first image.'),
        cpu: z.number().min(0.1).max(256).nullable().default(null).describe('Number of CPU cores. Null: no limit.'),
        memory_mb: z.number().int().min(128).max(1_048_576).nullable().default(null).describe('Null: no limit.'),
        processes: z.number().int().min(16).max(65_536).default(512),
        disk_mb: z
          .number()
          .int()
          .min(16)
          .max(16_777_216)
          .nullable()
          .default(null)
          .describe(
            'Disk limit for its home and the data of its daemon, such as models. Null: limited only by the host’s disk.',
          ),
        network: network.default('none').describe('`internet`: only public addresses can be reached.'),
        idle_stop_seconds: z
          .number()
          .int()
          .min(10)
          .max(2_592_000)
          .nullable()
          .default(null)
          .describe(
            'Stops the computer after this long without a request. Commands in the background count as activity. Null: never.',
          ),
        from_snapshot: id.optional().describe('The snapshot to create its home from.'),
      },
      reply: operation(Computer),
      errors: ['not_supported', 'limit_reached', 'invalid_state', 'storage_full'],
      beyond: true,
    }),
    snapshots: endpoint('GET /app/computer-snapshots', {
      summary: 'List the snapshots of your workspaces',
      access: byScope('computer:read'),
      query: { workspace_id: id.optional() },
      reply: page(ComputerSnapshot),
      beyond: true,
    }),
    delete_snapshot: endpoint('DELETE /app/computer-snapshots/:id', {
      summary: 'Delete a snapshot permanently',
      access: byScope('computer:write'),
      consent: 'person',
      reply: deleted,
      beyond: true,
    }),
  },
)
