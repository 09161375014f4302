import { z } from 'zod'
import { area, base, deleted, endpoint, id, idOut, one, page, time } from '#core/contract.ts'

const type = z.enum(['chat', 'agent', 'file', 'folder'])
const access = z.enum(['view', 'edit'])

export const Share = z
  .object({
    ...base,
    resource_type: type,
    resource_id: idOut,
    workspace_id: idOut.describe('Where the shared thing lives.'),
    grantee: z.object({
      user_id: idOut.nullable(),
      workspace_id: idOut.nullable().describe('Everybody in this workspace.'),
      email: z.string().nullable(),
      name: z.string().nullable().describe('Of the account or the workspace.'),
    }),
    access,
    status: z.enum(['active', 'pending']).describe('Pending: granted to an address that nobody has claimed.'),
    claimed_at: time.nullable(),
    created_by: idOut.nullable(),
  })
  .meta({ id: 'Share' })

export const NewShare = Share.extend({
  token: z
    .string()
    .nullable()
    .describe('What claims the share of an address; shown this once, and null when one went by mail or is not needed.'),
  url: z
    .string()
    .describe(
      'The app’s page for who gets it. For an address it says who shares what and takes it, by the token behind `#`: shown this once, for you to hand over.',
    ),
}).meta({ id: 'NewShare' })

export const GivenShare = Share.extend({
  title: z.string().nullable().describe('The title or name of what is shared.'),
}).meta({ id: 'GivenShare' })

export const SharedWithMe = Share.extend({
  title: z.string().nullable().describe('The title or name of what is shared.'),
  shared_by: z.string().nullable().describe('The name of who shared it.'),
}).meta({ id: 'SharedWithMe' })

const email = z
  .string()
  .trim()
  .max(254)
  .regex(/^[^\s@,;:<>()[\]"\\]+@[^\s@,;:<>()[\]"\\]+$/, 'must be an e-mail address')

const grantee = z
  .union([z.strictObject({ user_id: id }), z.strictObject({ email }), z.strictObject({ workspace_id: id })])
  .describe(
    'One of `user_id`, `email` and `workspace_id`. By `user_id` only who shares a workspace with you can be named, else it is 404; anybody by `email`.',
  )

/** A share by its id, or by what is shared and with whom. */
const named = {
  share_id: id.optional().describe('Which share; or name the resource and its grantee.'),
  resource_type: type.optional(),
  resource_id: id.optional(),
  grantee: grantee.optional(),
}
const namedInQuery = {
  share_id: named.share_id,
  resource_type: named.resource_type,
  resource_id: named.resource_id,
  user_id: id.optional().describe('The grantee.'),
  email: email.optional().describe('The grantee.'),
  workspace_id: id.optional().describe('The grantee.'),
}

export const shares = area(
  'shares',
  { title: 'Shares', summary: 'Chats, agents, files and folders for people outside of their workspace.' },
  {
    list: endpoint('GET /shares', {
      summary: 'List whom a resource is shared with',
      description: 'For members of its workspace. What is shared through a folder above it is not listed here.',
      scope: 'share:read',
      query: { resource_type: type, resource_id: id },
      reply: page(Share),
    }),
    given: endpoint('GET /app/shares', {
      summary: 'List what you have shared, newest first',
      description: 'What lies in workspaces that you are still in, the trash left out.',
      scope: 'share:read',
      reply: page(GivenShare),
      beyond: true,
    }),
    create: endpoint('POST /shares', {
      summary: 'Share a resource',
      description:
        'Needs `share:write` in its workspace, and on the resource what is given: reading for `view`, writing for `edit`. A share of a folder covers what is in it; what is shared with a workspace is edited by those only who may write in it. A share to an address counts for the account that has verified it, or that presents the token at `POST /invitations/accept`. Somebody who shares no workspace with you can be named by e-mail only: by id it is 404 (`param: grantee.user_id`), whether there is such an account or not.',
      scope: 'share:write',
      consent: 'person',
      body: { resource_type: type, resource_id: id, grantee, access: access.default('view') },
      reply: one(NewShare),
      status: 201,
      errors: ['already_exists', 'limit_reached', 'insufficient_role', 'not_found', 'invalid_state'],
    }),
    update: endpoint('PATCH /shares', {
      summary: 'Change the access that a share gives',
      scope: 'share:write',
      consent: 'person',
      body: { ...named, access },
      reply: one(Share),
      errors: ['insufficient_role', 'not_found', 'missing_parameter'],
    }),
    revoke: endpoint('DELETE /shares', {
      summary: 'Revoke a share, or give one of your own back',
      scope: 'share:write',
      consent: 'person',
      query: namedInQuery,
      body: named,
      reply: deleted,
      errors: ['insufficient_role', 'not_found', 'missing_parameter'],
    }),
  },
)

export const sharedWithMe = area(
  'shared_with_me',
  { title: 'Shared with me', summary: 'What others have shared with the caller.' },
  {
    list: endpoint('GET /shared-with-me', {
      summary: 'List what others have shared with the caller',
      description:
        'Newest first: by account, verified address or a workspace of the caller. What lies in the trash is left out.',
      scope: 'share:read',
      personal: true,
      query: { resource_type: type.optional().describe('Only this kind.') },
      reply: page(SharedWithMe),
    }),
  },
)
