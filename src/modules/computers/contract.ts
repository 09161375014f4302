import { z } from 'zod'
import { byScope, inWorkspace, resource, secret } from '#core/access.ts'
import { CAPABILITIES } from '#core/scopes.ts'
import { area, base, deleted, endpoint, id, idOut, one, page, time, words, workspaceId } from '#core/contract.ts'
import { cloudEndpoints } from './contract-cloud.ts'
import { Computer, capabilities, capability, computerName } from './contract-computer.ts'
import { exec, exec_stdin } from './contract-exec.ts'
import { localInference } from './contract-local-inference.ts'
import { fileEndpoints } from './contract-files.ts'
import { portEndpoints, userEndpoints } from './contract-machine.ts'
import { terminal, terminal_ticket } from './contract-terminals.ts'

/** Text reported by a machine. */
const machineText = (most: number) => words(most).pipe(z.string().trim())

export const ComputerPairing = z
  .object({
    ...base,
    name: z.string().nullable(),
    workspace_id: idOut.describe(
      'The workspace that will own the computer. For the personal workspace, its account owns it.',
    ),
    status: z.enum(['waiting', 'paired', 'expired']),
    computer_id: idOut.nullable(),
    expires_at: time,
  })
  .meta({ id: 'ComputerPairing' })

export const NewComputerPairing = ComputerPairing.extend({
  token: z.string().describe('The pairing token for the computer, `ukp_…`. It’s shown only once.'),
  code: z.string().describe('A code to type instead of the token, `XXXX-XXXX`. It’s shown only once.'),
  command: z.string().describe('The command to run on the computer. It’s shown only once.'),
  install_command: z
    .string()
    .describe(
      'The command for a computer without `uk`. It downloads the program from this server. It’s shown only once.',
    ),
}).meta({ id: 'NewComputerPairing' })

export const PairedComputer = z
  .object({
    computer: Computer,
    credential: z.string().describe('The computer’s credential, `ukm_…`. It’s shown only once.'),
    server_url: z.string(),
  })
  .meta({ id: 'PairedComputer' })

export const computerPairings = area(
  'computer_pairings',
  { title: 'Computer pairing', summary: 'One-time tokens for pairing computers.' },
  {
    list: endpoint('GET /computer-pairings', {
      summary: 'List your pairings, newest first',
      access: byScope('computer:read'),
      query: { workspace_id: id.optional().describe('Only pairings of this workspace.') },
      reply: page(ComputerPairing),
      beyond: true,
    }),
    create: endpoint('POST /computer-pairings', {
      summary: 'Create a pairing token, valid for 10 minutes',
      description:
        'The computer redeems the token or the code once. What Ukiyo can do on the computer is decided there: `uk computer run --allow …`.',
      access: inWorkspace('computer:write'),
      consent: 'person',
      body: {
        name: computerName.nullable().default(null).describe('The name of the computer. Null: its own host name.'),
        workspace_id: workspaceId,
      },
      reply: one(NewComputerPairing),
      status: 201,
      errors: ['limit_reached'],
      beyond: true,
    }),
    get: endpoint('GET /computer-pairings/:id', {
      summary: 'Get the status of a pairing',
      access: resource('computer_pairing', { scope: 'computer:read' }),
      reply: one(ComputerPairing),
      beyond: true,
    }),
    cancel: endpoint('DELETE /computer-pairings/:id', {
      summary: 'Cancel a pending pairing',
      access: resource('computer_pairing', { scope: 'computer:write' }),
      consent: 'person',
      reply: deleted,
      errors: ['invalid_state'],
      beyond: true,
    }),
  },
)

export const ComputerProbe = z
  .object({
    id: idOut,
    created_at: time.describe('When the computer was created.'),
    connection: z.literal('online'),
    round_trip_ms: z.number(),
    clock_difference_ms: z.number().int().describe('How far the computer’s clock is ahead of the server’s.'),
    uptime_seconds: z.number(),
    load: z.number(),
    memory_bytes: z.number().int(),
    memory_free_bytes: z.number().int(),
    disk_bytes: z
      .number()
      .int()
      .nullable()
      .describe('Of the file system that contains its home. Null: an older daemon, or unknown.'),
    disk_free_bytes: z.number().int().nullable(),
    home: z
      .string()
      .nullable()
      .describe(
        'The home of the user the daemon runs as. Null: an older daemon, or the caller can’t use commands, terminals or files.',
      ),
  })
  .meta({ id: 'ComputerProbe' })

export const ComputerExposure = z
  .object({ ...base, computer_id: idOut, workspace_id: idOut, capabilities: z.array(capability) })
  .meta({ id: 'ComputerExposure' })

const capabilityList = capabilities.pipe(z.array(capability).min(1))

export const computers = area(
  'computers',
  {
    title: 'Computers',
    summary: 'Connected computers and cloud computers: ownership, access and use.',
  },
  {
    list: endpoint('GET /computers', {
      summary: 'List the computers you can access, newest first',
      description: 'Your own computers, those of your workspaces, and those shared with your workspaces.',
      access: byScope('computer:read'),
      query: {
        owner: z.literal('me').optional().describe('`me`: only computers your account owns.'),
        workspace_id: id.optional().describe('Only computers that this workspace owns or can use.'),
      },
      reply: page(Computer),
    }),
    get: endpoint('GET /computers/:id', {
      summary: 'Get a computer',
      access: resource('computer', { scope: 'computer:read' }),
      reply: one(Computer),
    }),
    create: endpoint('POST /computers', {
      summary: 'Not available: computers are paired from the computer itself',
      description:
        'Always returns 405 `pair_from_machine`. Use `POST /computer-pairings` to create a token, and redeem it on the computer.',
      access: byScope('computer:write'),
      refused: 'pair_from_machine',
      reply: one(Computer),
    }),
    update: endpoint('PATCH /computers/:id', {
      summary: 'Rename a computer',
      access: resource('computer', { scope: 'computer:write', role: 'admin' }),
      body: { name: computerName.optional() },
      reply: one(Computer),
    }),
    delete: endpoint('DELETE /computers/:id', {
      summary: 'Delete a computer',
      description:
        'Revokes its credentials and all access immediately. Its connection and everything that uses it are closed within 5 seconds. On a paired computer, no data is deleted. A cloud computer is deleted together with its home; its snapshots are kept.',
      access: resource('computer', { scope: 'computer:write', role: 'owner' }),
      consent: 'person',
      reply: deleted,
    }),
    expose: endpoint('POST /computers/:id/exposures', {
      summary: 'Share a computer with a workspace',
      description:
        'Grants these capabilities, limited by what the computer allows. Members of the workspace can use it; viewers can only see it.',
      access: resource('computer', { scope: 'computer:write', role: 'admin' }),
      consent: 'person',
      body: { workspace_id: id, capabilities: capabilityList },
      reply: one(ComputerExposure),
      status: 201,
      errors: ['already_exists'],
    }),
    change_exposure: endpoint('PATCH /computers/:id/exposures/:workspace_id', {
      summary: 'Replace a workspace’s capabilities on a computer',
      access: resource('computer', { scope: 'computer:write', role: 'admin' }),
      consent: 'person',
      body: { capabilities: capabilityList },
      reply: one(ComputerExposure),
    }),
    withdraw: endpoint('DELETE /computers/:id/exposures/:workspace_id', {
      summary: 'Stop sharing a computer with a workspace',
      description: 'Admins of that workspace can do this too. Their active use is stopped within 5 seconds.',
      access: resource('computer', { scope: 'computer:write', role: 'admin' }),
      consent: 'person',
      reply: deleted,
    }),
    transfer: endpoint('POST /computers/:id/transfer', {
      summary: 'Transfer a computer to another user or workspace',
      description:
        'The new owner must be a member of one of your workspaces, or a workspace you’re in. Sharing with workspaces ends, and its local models stop serving platform models until the new owner maps them.',
      access: resource('computer', { scope: 'computer:write', role: 'owner' }),
      consent: 'person',
      body: { user_id: id.optional(), workspace_id: id.optional() },
      reply: one(Computer),
    }),
    rotate_credential: endpoint('POST /computers/:id/rotate-credential', {
      summary: 'Rotate a computer’s credential',
      description:
        'The new credential is sent to the daemon over its connection and stored there before the response. It isn’t returned. The old one stays valid for `overlap_seconds`.',
      access: resource('computer', { scope: 'computer:write', role: 'admin' }),
      consent: 'person',
      body: { overlap_seconds: z.number().int().min(0).max(86_400).default(60) },
      reply: one(Computer),
      errors: ['computer_offline', 'timeout', 'interrupted'],
    }),
    test_connection: endpoint('POST /computers/:id/test-connection', {
      summary: 'Test the connection to a computer',
      access: resource('computer', { scope: 'computer:read' }),
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
      summary: 'Redeem a pairing (called by the computer)',
      description:
        'Requires only the token or the code, which can be used once. A wrong one counts as a failed sign-in. After 10 wrong codes, a pairing ends.',
      access: secret(),
      consent: 'person',
      body: {
        token: z.string().min(1).max(200).describe('`ukp_…`, or the code `XXXX-XXXX`.'),
        name: computerName.optional().describe('The computer’s name. Default: its host name.'),
        os: machineText(64).describe('As in `process.platform`: `linux`, `darwin`.'),
        arch: machineText(64),
        hostname: machineText(255),
        daemon_version: machineText(64),
        protocol: z.number().int().min(1).max(1_000_000).describe('The newest protocol version it supports.'),
        allows: capabilities.default([...CAPABILITIES]),
      },
      reply: one(PairedComputer),
      status: 201,
      errors: ['invalid_credentials', 'link_expired', 'rate_limited', 'limit_reached'],
    }),
  },
)
