import { z } from 'zod'
import { CAPABILITIES } from '#core/scopes.ts'
import { area, base, deleted, endpoint, id, idOut, one, page, time, words, workspaceId } from '#core/contract.ts'
import { cloudEndpoints } from './contract-cloud.ts'
import { Computer, capabilities, capability, computerName } from './contract-computer.ts'
import { exec, exec_stdin } from './contract-exec.ts'
import { localInference } from './contract-local-inference.ts'
import { fileEndpoints } from './contract-files.ts'
import { portEndpoints, userEndpoints } from './contract-machine.ts'
import { terminal, terminal_ticket } from './contract-terminals.ts'

/** A line that a machine says of itself. */
const said = (most: number) => words(most).pipe(z.string().trim())

export const ComputerPairing = z
  .object({
    ...base,
    name: z.string().nullable(),
    workspace_id: idOut.describe('The workspace that the computer will belong to; the personal one: its account.'),
    status: z.enum(['waiting', 'paired', 'expired']),
    computer_id: idOut.nullable(),
    expires_at: time,
  })
  .meta({ id: 'ComputerPairing' })

export const NewComputerPairing = ComputerPairing.extend({
  token: z.string().describe('`ukp_…`, for the machine. Shown this once.'),
  code: z.string().describe('The same for typing, `XXXX-XXXX`. Shown this once.'),
  command: z.string().describe('What to run on the machine. Shown this once.'),
  install_command: z
    .string()
    .describe('The same for a machine that has no `uk`: it gets its part of it from this server. Shown this once.'),
}).meta({ id: 'NewComputerPairing' })

export const PairedComputer = z
  .object({
    computer: Computer,
    credential: z.string().describe('`ukm_…`, by which the machine says from now on who it is. Shown this once.'),
    server_url: z.string(),
  })
  .meta({ id: 'PairedComputer' })

export const computerPairings = area(
  'computer_pairings',
  { title: 'Pairing of computers', summary: 'One-time tokens by which a machine joins from its own side.' },
  {
    list: endpoint('GET /computer-pairings', {
      summary: 'List your pairings, newest first',
      scope: 'computer:read',
      query: { workspace_id: id.optional().describe('Only those of this workspace.') },
      reply: page(ComputerPairing),
      beyond: true,
    }),
    create: endpoint('POST /computer-pairings', {
      summary: 'Make a token that pairs one machine within 10 minutes',
      description:
        'The machine redeems it, or the code for typing, once. What it may then do to the machine is decided there: `uk computer run --allow …`.',
      scope: 'computer:write',
      consent: 'person',
      within: 'workspace_id',
      body: {
        name: computerName.nullable().default(null).describe('Of the computer. Null: what the machine calls itself.'),
        workspace_id: workspaceId,
      },
      reply: one(NewComputerPairing),
      status: 201,
      errors: ['limit_reached'],
      beyond: true,
    }),
    get: endpoint('GET /computer-pairings/:id', {
      summary: 'See whether a machine has come',
      scope: 'computer:read',
      on: 'computer_pairing',
      reply: one(ComputerPairing),
      beyond: true,
    }),
    cancel: endpoint('DELETE /computer-pairings/:id', {
      summary: 'End a pairing that waits',
      scope: 'computer:write',
      consent: 'person',
      on: 'computer_pairing',
      reply: deleted,
      errors: ['invalid_state'],
      beyond: true,
    }),
  },
)

export const ComputerProbe = z
  .object({
    id: idOut,
    created_at: time.describe('Of the computer.'),
    connection: z.literal('online'),
    round_trip_ms: z.number(),
    clock_difference_ms: z.number().int().describe('By how much its clock is ahead of the server’s.'),
    uptime_seconds: z.number(),
    load: z.number(),
    memory_bytes: z.number().int(),
    memory_free_bytes: z.number().int(),
    disk_bytes: z
      .number()
      .int()
      .nullable()
      .describe('Of the file system that its home lies on. Null: an earlier daemon, or not known.'),
    disk_free_bytes: z.number().int().nullable(),
    home: z
      .string()
      .nullable()
      .describe(
        'The home of the user that its daemon runs as. Null: an earlier daemon, or the caller may use neither commands nor terminals nor files.',
      ),
  })
  .meta({ id: 'ComputerProbe' })

export const ComputerExposure = z
  .object({ ...base, computer_id: idOut, workspace_id: idOut, capabilities: z.array(capability) })
  .meta({ id: 'ComputerExposure' })

const granted = capabilities.pipe(z.array(capability).min(1))
const reading = { scope: 'computer:read', on: 'computer' } as const
const managing = { scope: 'computer:write', on: 'computer', role: 'admin' } as const
const owning = { ...managing, role: 'owner' } as const

export const computers = area(
  'computers',
  {
    title: 'Computers',
    summary: 'Your own machines and cloud computers: whose they are, who may use them, and for what.',
  },
  {
    list: endpoint('GET /computers', {
      summary: 'List the computers that you reach, newest first',
      description: 'Your own, those of your workspaces, and those that these may use.',
      scope: 'computer:read',
      query: {
        owner: z.literal('me').optional().describe('`me`: only those that belong to your account.'),
        workspace_id: id.optional().describe('Only those that this workspace owns or may use.'),
      },
      reply: page(Computer),
    }),
    get: endpoint('GET /computers/:id', { summary: 'Get a computer', ...reading, reply: one(Computer) }),
    create: endpoint('POST /computers', {
      summary: 'Refused: computers are paired from the machine itself',
      description: 'Always 405 `pair_from_machine`. `POST /computer-pairings` makes what the machine redeems.',
      scope: 'computer:write',
      refused: 'pair_from_machine',
      reply: one(Computer),
    }),
    update: endpoint('PATCH /computers/:id', {
      summary: 'Rename a computer',
      ...managing,
      body: { name: computerName.optional() },
      reply: one(Computer),
    }),
    delete: endpoint('DELETE /computers/:id', {
      summary: 'Let a computer go',
      description:
        'Its credentials and everything that was granted end at once, its link and what goes on over it within 5 seconds. On a paired machine nothing is removed; a cloud computer goes with its home. Its snapshots stay.',
      ...owning,
      consent: 'person',
      reply: deleted,
    }),
    expose: endpoint('POST /computers/:id/exposures', {
      summary: 'Let a workspace use a computer',
      description:
        'For these capabilities, and no more than its machine allows. Members of the workspace use it; viewers see that it is there.',
      ...managing,
      consent: 'person',
      body: { workspace_id: id, capabilities: granted },
      reply: one(ComputerExposure),
      status: 201,
      errors: ['already_exists'],
    }),
    change_exposure: endpoint('PATCH /computers/:id/exposures/:workspace_id', {
      summary: 'Replace what a workspace may do with a computer',
      ...managing,
      consent: 'person',
      body: { capabilities: granted },
      reply: one(ComputerExposure),
    }),
    withdraw: endpoint('DELETE /computers/:id/exposures/:workspace_id', {
      summary: 'Withdraw a computer from a workspace',
      description: 'The admins of that workspace may, too. What goes on there over it ends within 5 seconds.',
      ...managing,
      consent: 'person',
      reply: deleted,
    }),
    transfer: endpoint('POST /computers/:id/transfer', {
      summary: 'Give a computer to somebody else, or to a workspace',
      description:
        'To a person you share a workspace with, or a workspace you are in. What was exposed is withdrawn, and its local models answer for no models of the platform until the new owner maps them.',
      ...owning,
      consent: 'person',
      body: { user_id: id.optional(), workspace_id: id.optional() },
      reply: one(Computer),
    }),
    rotate_credential: endpoint('POST /computers/:id/rotate-credential', {
      summary: 'Give the machine another credential',
      description:
        'Its daemon is handed it over the link and keeps it before this is answered; nobody else sees it. The old one goes on for `overlap_seconds`.',
      ...managing,
      consent: 'person',
      body: { overlap_seconds: z.number().int().min(0).max(86_400).default(60) },
      reply: one(Computer),
      errors: ['computer_offline', 'timeout', 'interrupted'],
    }),
    test_connection: endpoint('POST /computers/:id/test-connection', {
      summary: 'Ask the daemon of a computer whether it is there',
      ...reading,
      reply: one(ComputerProbe),
      errors: ['computer_offline', 'timeout', 'interrupted'],
    }),
    ...cloudEndpoints,
    exec,
    exec_stdin,
    terminal,
    terminal_ticket,
    ...localInference,
    ...fileEndpoints,
    ...portEndpoints,
    ...userEndpoints,
    pair: endpoint('POST /computers/pair', {
      summary: 'Redeem a pairing: what a machine does, not a person',
      description:
        'Needs nothing but the token or the code, and works once. A wrong one counts as a failed login; ten wrong codes end a pairing.',
      scope: null,
      auth: 'open',
      consent: 'person',
      body: {
        token: z.string().min(1).max(200).describe('`ukp_…`, or the code `XXXX-XXXX`.'),
        name: computerName.optional().describe('What the machine calls itself. Default: its host name.'),
        os: said(64).describe('As `process.platform` says: `linux`, `darwin`.'),
        arch: said(64),
        hostname: said(255),
        daemon_version: said(64),
        protocol: z.number().int().min(1).max(1_000_000).describe('The newest protocol of the link that it speaks.'),
        allows: capabilities.default([...CAPABILITIES]),
      },
      reply: one(PairedComputer),
      status: 201,
      errors: ['invalid_credentials', 'link_expired', 'rate_limited', 'limit_reached'],
    }),
  },
)
