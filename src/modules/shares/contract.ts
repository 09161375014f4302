import { z } from 'zod'
import { byScope, personal } from '#core/access.ts'
import { area, base, deleted, endpoint, id, idOut, one, page, time } from '#core/contract.ts'

const type = z.enum(['chat', 'agent', 'file', 'folder'])
const access = z.enum(['view', 'edit'])

export const Share = z
  .object({
    ...base,
    resource_type: type,
    resource_id: idOut,
    workspace_id: idOut.describe('The workspace of the shared resource.'),
    grantee: z.object({
      user_id: idOut.nullable(),
      workspace_id: idOut.nullable().describe('All members of this workspace.'),
      email: z.string().nullable(),
      name: z.string().nullable().describe('The name of the account or workspace.'),
    }),
    access,
    status: z
      .enum(['active', 'pending'])
      .describe('Pending: shared with an email address that no account has claimed yet.'),
    claimed_at: time.nullable(),
    created_by: idOut.nullable(),
  })
  .meta({ id: 'Share' })

export const NewShare = Share.extend({
  token: z
    .string()
    .nullable()
    .describe(
      'The token that claims a share to an email address. It’s shown only once, and is null if it was sent by email or isn’t needed.',
    ),
  url: z
    .string()
    .describe(
      'A link for the recipient. For shares to an email address, the page shows who shared what and claims the share with the token after `#`. It’s shown only once.',
    ),
}).meta({ id: 'NewShare' })

export const GivenShare = Share.extend({
  title: z.string().nullable().describe('The title or name of the shared resource.'),
}).meta({ id: 'GivenShare' })

export const SharedWithMe = Share.extend({
  title: z.string().nullable().describe('The title or name of the shared resource.'),
  shared_by: z.string().nullable().describe('The name of the user who shared it.'),
}).meta({ id: 'SharedWithMe' })

const email = z
  .string()
  .trim()
  .max(254)
  .regex(/^[^\s@,;:<>()[\]"\\]+@[^\s@,;:<>()[\]"\\]+$/, 'must be an email address')

const grantee = z
  .union([z.strictObject({ user_id: id }), z.strictObject({ email }), z.strictObject({ workspace_id: id })])
  .describe(
    'Exactly one of `user_id`, `email` and `workspace_id`. `user_id` must be a member of one of your workspaces, otherwise the response is 404. `email` can be any address.',
  )

const selector = {
  share_id: id.optional().describe('The share. Alternatively, name the resource and its grantee.'),
  resource_type: type.optional(),
  resource_id: id.optional(),
  grantee: grantee.optional(),
}
const namedInQuery = {
  share_id: selector.share_id,
  resource_type: selector.resource_type,
  resource_id: selector.resource_id,
  user_id: id.optional().describe('The grantee.'),
  email: email.optional().describe('The grantee.'),
  workspace_id: id.optional().describe('The grantee.'),
}

export const shares = area(
  'shares',
  { title: 'Shares', summary: 'Chats, agents, files and folders shared with people outside their workspace.' },
  {
    list: endpoint('GET /shares', {
      summary: 'List the shares of a resource',
      description: 'For members of the resource’s workspace. Shares of a parent folder aren’t included.',
      access: byScope('share:read'),
      query: { resource_type: type, resource_id: id },
      reply: page(Share),
    }),
    given: endpoint('GET /app/shares', {
      summary: 'List what you shared, newest first',
      description: 'Includes only workspaces you’re still a member of, and nothing in the trash.',
      access: byScope('share:read'),
      reply: page(GivenShare),
      beyond: true,
    }),
    create: endpoint('POST /shares', {
      summary: 'Share a resource',
      description:
        'Requires `share:write` in the workspace, and the access you give: read access for `view`, write access for `edit`. A folder share covers the folder’s contents. When you share with a workspace, only its members with write access can edit. A share to an email address belongs to the account that verified the address, or that sends the token to `POST /invitations/accept`. You can share by `user_id` only with members of your workspaces. Any other ID returns 404 (`param: grantee.user_id`), whether or not the account exists.',
      access: byScope('share:write'),
      consent: 'person',
      body: { resource_type: type, resource_id: id, grantee, access: access.default('view') },
      reply: one(NewShare),
      status: 201,
      errors: ['already_exists', 'limit_reached', 'insufficient_role', 'not_found', 'invalid_state'],
    }),
    update: endpoint('PATCH /shares', {
      summary: 'Change the access of a share',
      access: byScope('share:write'),
      consent: 'person',
      body: { ...selector, access },
      reply: one(Share),
      errors: ['insufficient_role', 'not_found', 'missing_parameter'],
    }),
    revoke: endpoint('DELETE /shares', {
      summary: 'Revoke a share, or leave one',
      access: byScope('share:write'),
      consent: 'person',
      query: namedInQuery,
      body: selector,
      reply: deleted,
      errors: ['insufficient_role', 'not_found', 'missing_parameter'],
    }),
  },
)

export const sharedWithMe = area(
  'shared_with_me',
  { title: 'Shared with me', summary: 'Resources that others shared with the caller.' },
  {
    list: endpoint('GET /shared-with-me', {
      summary: 'List resources shared with the caller',
      description:
        'Newest first. Includes shares to the account, its verified email address, and its workspaces. Resources in the trash aren’t included.',
      access: personal('share:read'),
      query: { resource_type: type.optional().describe('Only resources of this kind.') },
      reply: page(SharedWithMe),
    }),
  },
)
