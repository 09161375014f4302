import { z } from 'zod'
import { resource } from '#core/access.ts'
import { deleted, endpoint, flag, one, page, time, words } from '#core/contract.ts'

const port = z.coerce.number().int().min(1).max(65_535).meta({ example: 5173 })

export const ComputerPort = z
  .object({
    port: z.number().int(),
    label: z.string().nullable().describe('The label of this port, independent of the program that uses it.'),
    protocol: z.enum(['tcp', 'tcp6']).nullable(),
    process: z.string().nullable(),
    pid: z.number().int().nullable(),
    status: z.enum(['listening', 'closed']).describe('`closed`: no program listens on the port, but it has a label.'),
    url: z
      .string()
      .nullable()
      .describe(
        'The port’s own origin. It can be opened with a ticket or an API key. Null if the instance has no UK_PREVIEW_DOMAIN.',
      ),
  })
  .meta({ id: 'ComputerPort' })

export const PortTicket = z
  .object({ url: z.string().describe('A URL for a browser that opens the port once.'), expires_at: time })
  .meta({ id: 'PortTicket' })

export const portEndpoints = {
  ports: endpoint('GET /computers/:id/ports', {
    summary: 'List the open ports of a computer',
    description: 'Includes ports with a label. Each computer and port has its own origin in `url`.',
    access: resource('computer', { scope: 'computer:read', capability: 'ports' }),
    reply: page(ComputerPort),
    errors: ['computer_offline', 'timeout'],
  }),
  label_port: endpoint('PATCH /computers/:id/ports', {
    summary: 'Label a port',
    description: 'The label is kept when the program exits. Null removes it.',
    access: resource('computer', { scope: 'computer:write', capability: 'ports' }),
    body: { port, label: words(120).pipe(z.string().trim().min(1)).nullable() },
    reply: one(ComputerPort),
    errors: ['computer_offline', 'timeout'],
  }),
  port_ticket: endpoint('POST /computers/:id/ports/:port/ticket', {
    summary: 'Create a one-time link to open a port in a browser',
    description:
      'The link is valid for 60 seconds and can be used once. Fails with 409 `invalid_state` if no program listens on the port. It sets a cookie for this port of this computer only, valid for up to 12 hours and no longer than the session or key that created it. Permissions are checked on every request, and open connections are closed within 5 seconds after they’re revoked. Programs can send their API key to the port’s `url` instead.',
    access: resource('computer', { scope: 'computer:read', capability: 'ports' }),
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

export const userEndpoints = {
  users: endpoint('GET /computers/:id/users', {
    summary: 'List the users of a computer',
    description: 'Lists the user accounts of the operating system, by `uid`. System accounts aren’t included.',
    access: resource('computer', { scope: 'computer:write', capability: 'users' }),
    reply: page(MachineUser),
    errors,
  }),
  create_user: endpoint('POST /computers/:id/users', {
    summary: 'Create a user on a computer',
    description:
      'Creates a user with a home and no password. If the daemon doesn’t run as root, fails with 409 `not_supported`.',
    access: resource('computer', { scope: 'computer:write', capability: 'users' }),
    body: {
      username,
      shell: shell.optional().describe('Default: `/bin/bash`.'),
      groups: groups.default([]).describe('Additional groups.'),
    },
    reply: one(MachineUser),
    status: 201,
    errors: [...errors, 'already_exists'],
  }),
  user: endpoint('GET /computers/:id/users/:username', {
    summary: 'Get a user of a computer',
    access: resource('computer', { scope: 'computer:write', capability: 'users' }),
    params,
    reply: one(MachineUser),
    errors,
  }),
  update_user: endpoint('PATCH /computers/:id/users/:username', {
    summary: 'Update a user’s shell or groups',
    access: resource('computer', { scope: 'computer:write', capability: 'users' }),
    params,
    body: {
      shell: shell.optional(),
      groups: groups.optional().describe('All additional groups. Replaces the current ones.'),
    },
    reply: one(MachineUser),
    errors,
  }),
  delete_user: endpoint('DELETE /computers/:id/users/:username', {
    summary: 'Delete a user of a computer',
    access: resource('computer', { scope: 'computer:write', capability: 'users' }),
    consent: 'person',
    params,
    query: {
      remove_home: flag.default(false).describe('Whether to delete its home and mail too.'),
      force: flag
        .default(false)
        .describe(
          'Whether to terminate its processes first. If false and there are processes, the request fails with 409 `invalid_state`.',
        ),
    },
    reply: deleted,
    errors: [...errors, 'invalid_state'],
  }),
}
