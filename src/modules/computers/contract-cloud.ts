import { z } from 'zod'
import { area, base, deleted, endpoint, id, idOut, one, operation, page, words, workspaceId } from '#core/contract.ts'
import { Computer, computerName } from './contract-computer.ts'

const network = z.enum(['none', 'internet'])

export const ComputerDriver = z
  .object({
    driver: z
      .string()
      .describe(
        '`bubblewrap`: a sandbox of the host’s own system. `docker`: a container of an image, by Docker or Podman.',
      ),
    available: z.boolean(),
    reason: z.string().nullable().describe('Why it is not available, or what it cannot do here.'),
    images: z.array(z.string()),
    network: z.array(network),
    limits_enforced: z
      .boolean()
      .describe('Limits of CPU, memory and processes hold. Where false, what holds is said in `reason`.'),
    disk_limits_enforced: z
      .boolean()
      .describe(
        'The kernel refuses what goes beyond `disk_mb`. Where false it is measured every few seconds, and a computer that goes beyond it is ended, in `error` and with the reason.',
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
    status: z.enum(['creating', 'ready', 'failed']).describe('`ready` once it was read again and is whole.'),
    size_bytes: z.number().int().nullable().describe('As it is kept, packed.'),
    home_bytes: z
      .number()
      .int()
      .nullable()
      .describe('What a home takes that begins with it. Null: it was made before this was counted.'),
    entries: z.number().int().nullable().describe('Files and folders in it.'),
    sha256: z.string().nullable(),
  })
  .meta({ id: 'ComputerSnapshot' })

/** Endpoints of `/computers/:id` that only cloud computers have a use for. */
export const cloudEndpoints = {
  start: endpoint('POST /computers/:id/start', {
    summary: 'Start a cloud computer',
    description:
      'A stopped one, or one in `error`; it is `starting` until its daemon has come. A paired machine is started by its owner: 409 `not_supported`.',
    scope: 'computer:write',
    on: 'computer',
    reply: one(Computer),
    errors: ['not_supported', 'invalid_state'],
  }),
  stop: endpoint('POST /computers/:id/stop', {
    summary: 'Stop a cloud computer',
    description:
      'Everything that runs on it ends, its home stays. From any state but `provisioning` without a home. A paired machine: 409 `not_supported`.',
    scope: 'computer:write',
    on: 'computer',
    reply: one(Computer),
    errors: ['not_supported', 'invalid_state'],
  }),
  snapshot: endpoint('POST /computers/:id/snapshots', {
    summary: 'Keep the home of a cloud computer as it is now',
    description:
      'An operation, whose result is the snapshot. A running computer is held still for as long as it is read. The snapshot counts once it was read again and every entry was found; it outlives its computer.',
    scope: 'computer:write',
    on: 'computer',
    body: { name: words(120).nullable().default(null) },
    reply: operation(ComputerSnapshot),
    errors: ['not_supported', 'invalid_state'],
    beyond: true,
  }),
  snapshots: endpoint('GET /computers/:id/snapshots', {
    summary: 'List the snapshots of a cloud computer, newest first',
    scope: 'computer:read',
    on: 'computer',
    reply: page(ComputerSnapshot),
    beyond: true,
  }),
} as const

export const cloudComputers = area(
  'cloud_computers',
  { title: 'Cloud computers', summary: 'Computers that this instance makes, isolated from its own machine.' },
  {
    drivers: endpoint('GET /app/computer-drivers', {
      summary: 'See what cloud computers can be made of here',
      scope: 'computer:read',
      reply: page(ComputerDriver),
      beyond: true,
    }),
    create: endpoint('POST /app/computers', {
      summary: 'Make a cloud computer',
      description:
        'An operation, whose result is the computer once it runs and its daemon has come. From then on it is one like any other: commands, terminals, files, ports.',
      scope: 'computer:write',
      within: 'workspace_id',
      body: {
        workspace_id: workspaceId,
        name: computerName,
        driver: z.string().max(40).optional().describe('Default: the first that is available.'),
        image: words(255).optional().describe('Default: the first of the driver.'),
        cpu: z.number().min(0.1).max(256).nullable().default(null).describe('Cores. Null: no limit.'),
        memory_mb: z.number().int().min(128).max(1_048_576).nullable().default(null).describe('Null: no limit.'),
        processes: z.number().int().min(16).max(65_536).default(512),
        disk_mb: z
          .number()
          .int()
          .min(16)
          .max(16_777_216)
          .nullable()
          .default(null)
          .describe('Its home and what its daemon keeps, such as models. Null: no limit but the disk of its host.'),
        network: network.default('none').describe('`internet`: public addresses only.'),
        idle_stop_seconds: z
          .number()
          .int()
          .min(10)
          .max(2_592_000)
          .nullable()
          .default(null)
          .describe(
            'It is stopped after so long without a call to it; a command in the background is one. Null: never.',
          ),
        from_snapshot: id.optional().describe('Its home is what this snapshot has.'),
      },
      reply: operation(Computer),
      errors: ['not_supported', 'limit_reached', 'invalid_state', 'storage_full'],
      beyond: true,
    }),
    snapshots: endpoint('GET /app/computer-snapshots', {
      summary: 'List the snapshots of your workspaces, newest first, also those of computers that are gone',
      scope: 'computer:read',
      query: { workspace_id: id.optional() },
      reply: page(ComputerSnapshot),
      beyond: true,
    }),
    delete_snapshot: endpoint('DELETE /app/computer-snapshots/:id', {
      summary: 'Delete a snapshot for good',
      scope: 'computer:write',
      consent: 'person',
      reply: deleted,
      beyond: true,
    }),
  },
)
