/** Ports and users of a machine: what it has beside files and programs. */
import { z } from 'zod'
import { deleted, endpoint, flag, one, page, time, words } from '#core/contract.ts'

const port = z.coerce.number().int().min(1).max(65_535).meta({ example: 5173 })
const looking = { scope: 'computer:read', on: 'computer', capability: 'ports' } as const

export const ComputerPort = z
  .object({
    port: z.number().int(),
    label: z.string().nullable().describe('Of this port of this computer, whatever listens there.'),
    protocol: z.enum(['tcp', 'tcp6']).nullable(),
    process: z.string().nullable(),
    pid: z.number().int().nullable(),
    status: z.enum(['listening', 'closed']).describe('`closed`: nothing listens there, and it has a label.'),
    url: z
      .string()
      .nullable()
      .describe(
        'Its own origin, entered by a ticket or with a key. Null where the instance has none: UK_PREVIEW_DOMAIN.',
      ),
  })
  .meta({ id: 'ComputerPort' })

export const PortTicket = z
  .object({ url: z.string().describe('For a browser: it opens the port, once.'), expires_at: time })
  .meta({ id: 'PortTicket' })

export const portEndpoints = {
  ports: endpoint('GET /computers/:id/ports', {
    summary: 'List the ports that programs of a computer listen on',
    description: 'And those that have a label. A `url` is an origin of its own for each computer and port.',
    ...looking,
    reply: page(ComputerPort),
    errors: ['computer_offline', 'timeout'],
  }),
  label_port: endpoint('PATCH /computers/:id/ports', {
    summary: 'Label a port',
    description: 'The label stays when the program behind it ends. Null takes it away.',
    ...looking,
    scope: 'computer:write',
    body: { port, label: words(120).pipe(z.string().trim().min(1)).nullable() },
    reply: one(ComputerPort),
    errors: ['computer_offline', 'timeout'],
  }),
  port_ticket: endpoint('POST /computers/:id/ports/:port/ticket', {
    summary: 'Make a link that opens a port in a browser, once and within 60 seconds',
    description:
      'Refused (409 `invalid_state`) while nothing listens there. It sets a cookie that is good for this port of this computer and for nothing else, for 12 hours and no longer than the session or key that asked. Every request is held against the grant; what is open ends within 5 seconds of its end. Programs may send their key to the `url` of the port instead.',
    ...looking,
    consent: 'person',
    params: { port },
    reply: one(PortTicket),
    status: 201,
    errors: ['not_supported', 'invalid_state', 'computer_offline', 'timeout'],
    beyond: true,
  }),
}

const username = words(32)
  .pipe(z.string().regex(/^[a-z_][a-z0-9_-]{0,31}$/, 'must be a name such as ada'))
  .meta({ example: 'ada' })
const shell = words(256).pipe(z.string().startsWith('/', 'must be an absolute path'))
const groups = z.array(words(32).pipe(z.string().min(1))).max(64)
const managing = { scope: 'computer:write', on: 'computer', capability: 'users' } as const
const params = { username: words(64).pipe(z.string().min(1)) }

export const MachineUser = z
  .object({
    username: z.string(),
    uid: z.number().int(),
    home: z.string(),
    shell: z.string(),
    groups: z.array(z.string()),
  })
  .meta({ id: 'MachineUser' })

const errors = ['computer_offline', 'timeout', 'not_supported', 'interrupted'] as const

/** People's accounts of the machine's own system. */
export const userEndpoints = {
  users: endpoint('GET /computers/:id/users', {
    summary: 'List the users of a computer',
    description: 'People’s accounts of its own system, by `uid`; those that the system needs for itself are not shown.',
    ...managing,
    reply: page(MachineUser),
    errors,
  }),
  create_user: endpoint('POST /computers/:id/users', {
    summary: 'Create a user of a computer',
    description: 'With a home and no password. Where the daemon does not run as root: 409 `not_supported`.',
    ...managing,
    body: {
      username,
      shell: shell.optional().describe('Default: `/bin/bash`.'),
      groups: groups.default([]).describe('Beside its own.'),
    },
    reply: one(MachineUser),
    status: 201,
    errors: [...errors, 'already_exists'],
  }),
  user: endpoint('GET /computers/:id/users/:username', {
    summary: 'Get a user of a computer',
    ...managing,
    params,
    reply: one(MachineUser),
    errors,
  }),
  update_user: endpoint('PATCH /computers/:id/users/:username', {
    summary: 'Change the shell or the groups of a user',
    ...managing,
    params,
    body: { shell: shell.optional(), groups: groups.optional().describe('All of them beside its own.') },
    reply: one(MachineUser),
    errors,
  }),
  delete_user: endpoint('DELETE /computers/:id/users/:username', {
    summary: 'Delete a user of a computer',
    ...managing,
    consent: 'person',
    params,
    query: {
      remove_home: flag.default(false).describe('Its home and mail as well.'),
      force: flag.default(false).describe('End its processes first. Without, 409 `invalid_state` while there are any.'),
    },
    reply: deleted,
    errors: [...errors, 'invalid_state'],
  }),
}
