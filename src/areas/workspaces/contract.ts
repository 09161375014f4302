import { z } from 'zod'
import { Share } from '#areas/shares/contract.ts'
import { area, base, deleted, endpoint, id, idOut, one, page, period, time, usd } from '#kernel/contract.ts'
import { roles, scopes } from '#kernel/scopes.ts'

const name = z.string().trim().min(1).max(120)
const description = z.string().trim().max(2_000).nullable()
const budget = {
  spend_cap_usd: z
    .number()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe('What model calls in this workspace may cost per period, whoever makes them. Null has no budget.'),
  spend_cap_period: period.describe('UTC: day, ISO week, calendar month, or total.'),
}
const role = z
  .enum(roles)
  .describe(
    '`viewer` reads, `member` writes and runs, `admin` manages members, keys, caps and exposures, `owner` deletes and transfers.',
  )
const permissions = z
  .array(z.enum(scopes))
  .max(scopes.length)
  .nullable()
  .describe('Scopes that narrow the role; null is all that the role may.')

export const Workspace = z
  .object({
    ...base,
    name: z.string(),
    description: z.string().nullable(),
    kind: z.enum(['personal', 'team']),
    status: z.enum(['active', 'archived']),
    archived_at: time.nullable(),
    created_by: idOut.nullable(),
    spend_cap_usd: usd.nullable(),
    spend_cap_period: period,
    spent_usd: usd.describe('In the present period of the budget.'),
    member_count: z.number().int(),
    role: z.enum(roles).describe('Of the caller.'),
    permissions: z.array(z.string()).nullable().describe('Of the caller; null is all of the role.'),
  })
  .meta({ id: 'Workspace' })

export const workspaces = area(
  'workspaces',
  { title: 'Workspaces', summary: 'Where people and agents keep what they share.' },
  {
    list: endpoint('GET /workspaces', {
      summary: 'List the workspaces of the caller',
      scope: 'workspace:read',
      query: { status: z.enum(['active', 'archived']).default('active').describe('Which of them to list.') },
      reply: page(Workspace),
    }),
    get: endpoint('GET /workspaces/:id', {
      summary: 'Read a workspace',
      scope: 'workspace:read',
      on: 'workspace',
      reply: one(Workspace),
    }),
    create: endpoint('POST /workspaces', {
      summary: 'Create a workspace; the caller becomes its owner',
      example: { name: 'Print shop' },
      scope: 'workspace:write',
      ofAccount: true,
      body: {
        name,
        description: description.default(null),
        spend_cap_usd: budget.spend_cap_usd.default(null),
        spend_cap_period: budget.spend_cap_period.default('month'),
      },
      reply: one(Workspace),
      status: 201,
      errors: ['limit_reached'],
    }),
    update: endpoint('PATCH /workspaces/:id', {
      summary: 'Change name, description or budget',
      description:
        'The budget covers every model call in the workspace, on credits or not; what was spent before it was set counts. It is reached as `402 budget_reached`.',
      scope: 'workspace:write',
      consent: 'person',
      on: 'workspace',
      role: 'admin',
      body: { name: name.optional(), description: description.optional(), ...z.object(budget).partial().shape },
      reply: one(Workspace),
      errors: ['invalid_state'],
    }),
    delete: endpoint('DELETE /workspaces/:id', {
      summary: 'Delete a workspace with all that is in it',
      description:
        'Content, files and members go for good, keys that are restricted to it are revoked; ledger and audit stay. How much it was, is told by the event `workspace.deleted` (`removed`) and kept in the audit. Only an owner may, and has to confirm with the name.',
      scope: 'workspace:write',
      consent: 'person',
      on: 'workspace',
      role: 'owner',
      query: { confirm: z.string().describe('The name of the workspace.') },
      reply: deleted,
      errors: ['personal_workspace'],
    }),
    archive: endpoint('POST /workspaces/:id/archive', {
      summary: 'Archive a workspace: it becomes read-only',
      scope: 'workspace:write',
      on: 'workspace',
      role: 'admin',
      reply: one(Workspace),
      errors: ['personal_workspace'],
    }),
    unarchive: endpoint('POST /workspaces/:id/unarchive', {
      summary: 'Bring a workspace back from the archive',
      scope: 'workspace:write',
      on: 'workspace',
      role: 'admin',
      reply: one(Workspace),
    }),
  },
)

export const Member = z
  .object({
    ...base,
    workspace_id: idOut,
    user_id: idOut,
    name: z.string(),
    email: z.string(),
    role: z.enum(roles),
    permissions: z.array(z.string()).nullable(),
    created_by: idOut.nullable(),
  })
  .meta({ id: 'Member' })

const memberId = 'The id of the membership, or of the user.'

export const members = area(
  'members',
  { title: 'Members', summary: 'Who works in a workspace, and what they may do. Nobody grants more than they have.' },
  {
    list: endpoint('GET /workspaces/:id/members', {
      summary: 'List the members of a workspace',
      scope: 'member:read',
      on: 'workspace',
      reply: page(Member),
    }),
    add: endpoint('POST /workspaces/:id/members', {
      summary: 'Add somebody who is known from another workspace',
      description: 'Only who shares a workspace with the caller can be added; everybody else is invited by e-mail.',
      scope: 'member:write',
      consent: 'person',
      on: 'workspace',
      role: 'admin',
      body: { user_id: id, role: role.default('member'), permissions: permissions.default(null) },
      reply: one(Member),
      status: 201,
      errors: ['already_exists', 'personal_workspace', 'limit_reached', 'invalid_state'],
    }),
    update: endpoint('PATCH /workspaces/:id/members/:memberId', {
      summary: 'Change the role or the permissions of a member',
      description: `${memberId} To hand a workspace over, make another member its owner.`,
      scope: 'member:write',
      consent: 'person',
      on: 'workspace',
      role: 'admin',
      body: { role: role.optional(), permissions: permissions.optional() },
      reply: one(Member),
      errors: ['last_owner', 'invalid_state'],
    }),
    remove: endpoint('DELETE /workspaces/:id/members/:memberId', {
      summary: 'Remove a member, or leave',
      description: `${memberId} Everybody may leave, except the last owner; removing others needs the role admin.`,
      scope: 'member:write',
      consent: 'person',
      on: 'workspace',
      // A scope that everybody in the workspace has: to leave it must not need more. The rule for others is the service's.
      onScope: 'user:read',
      reply: deleted,
      errors: ['last_owner'],
    }),
  },
)

export const Invitation = z
  .object({
    ...base,
    workspace_id: idOut,
    email: z.string(),
    role: z.enum(roles),
    permissions: z.array(z.string()).nullable(),
    status: z.enum(['pending', 'accepted', 'revoked', 'expired']),
    expires_at: time,
    accepted_by: idOut.nullable(),
    accepted_at: time.nullable(),
    revoked_at: time.nullable(),
    created_by: idOut.nullable(),
  })
  .meta({ id: 'Invitation' })

export const NewInvitation = Invitation.extend({
  token: z
    .string()
    .nullable()
    .describe('To hand over to the invited person; shown this once. Null when one went by mail.'),
  url: z
    .string()
    .describe(
      'The app’s page that says who invites into what, and lets them in: the token stands behind `#`. Shown this once, for you to hand over. A mail has such a link too, with a token of its own that also confirms the address.',
    ),
}).meta({ id: 'NewInvitation' })

export const InvitationPreview = z
  .object({
    id: idOut,
    created_at: time,
    kind: z.enum(['workspace', 'share']).describe('Into a workspace, or to one thing that was shared.'),
    status: z
      .enum(['pending', 'accepted', 'revoked', 'expired'])
      .describe('`revoked` also where whoever invited may not invite any more.'),
    email: z.string().describe('The address that was invited.'),
    invited_by: z.string().nullable().describe('The name of who invited, or shared.'),
    workspace_name: z
      .string()
      .nullable()
      .describe('Null for a share: whoever gets one learns nothing of its workspace.'),
    role: z.enum(roles).nullable(),
    resource_type: z.enum(['chat', 'agent', 'file', 'folder']).nullable(),
    title: z.string().nullable().describe('The title or name of what is shared.'),
    access: z.enum(['view', 'edit']).nullable(),
    expires_at: time.nullable().describe('Null never.'),
  })
  .meta({ id: 'InvitationPreview' })

export const ReceivedInvitation = Invitation.extend({
  workspace_name: z.string(),
  invited_by: z.string().nullable().describe('The name of who invited.'),
}).meta({ id: 'ReceivedInvitation' })

export const AcceptedInvitation = Invitation.extend({ member: Member }).meta({ id: 'AcceptedInvitation' })

const invitationId = id.optional().describe('Which one; in the query or in the body.')

export const invitations = area(
  'invitations',
  { title: 'Invitations', summary: 'Asking people into a workspace by their e-mail address.' },
  {
    list: endpoint('GET /workspaces/:id/invitations', {
      summary: 'List the invitations to a workspace',
      scope: 'member:read',
      on: 'workspace',
      query: {
        status: z.enum(['pending', 'accepted', 'revoked', 'expired']).optional().describe('Only those. Default: all.'),
      },
      reply: page(Invitation),
    }),
    create: endpoint('POST /workspaces/:id/invitations', {
      summary: 'Invite somebody by e-mail address',
      description:
        'Good for 7 days. `url` is the page to hand over; where the server can send mail, one goes to the address as well. Inviting an address again replaces its pending invitation.',
      scope: 'member:write',
      consent: 'person',
      on: 'workspace',
      role: 'admin',
      body: {
        email: z
          .string()
          .trim()
          .max(254)
          .regex(/^[^\s@,;:<>()[\]"\\]+@[^\s@,;:<>()[\]"\\]+$/, 'must be an e-mail address'),
        role: role.default('member'),
        permissions: permissions.default(null),
      },
      reply: one(NewInvitation),
      status: 201,
      errors: ['already_exists', 'personal_workspace', 'limit_reached', 'invalid_state'],
    }),
    revoke: endpoint('DELETE /workspaces/:id/invitations', {
      summary: 'Revoke a pending invitation',
      scope: 'member:write',
      consent: 'person',
      on: 'workspace',
      role: 'admin',
      query: { invitation_id: invitationId },
      body: { invitation_id: invitationId },
      reply: deleted,
      errors: ['invalid_state'],
    }),
    received: endpoint('GET /invitations', {
      summary: 'List the pending invitations to the caller',
      description: 'Those to its e-mail address, once that is verified.',
      scope: 'workspace:read',
      reply: page(ReceivedInvitation),
      beyond: true,
    }),
    preview: endpoint('POST /invitations/preview', {
      summary: 'Read who invites into what, by the token alone',
      description:
        'For the page that the link opens, before anybody is signed in. A token that nobody was given is 404 and counts as a failed login. Nothing tells whether the address has an account.',
      scope: null,
      auth: 'open',
      body: { token: z.string().min(1).max(200) },
      reply: one(InvitationPreview),
      errors: ['rate_limited'],
      beyond: true,
    }),
    accept: endpoint('POST /invitations/accept', {
      summary: 'Accept an invitation',
      description:
        'With its token, or by `invitation_id` when it went to the verified e-mail address of the caller. Accepting with a token that came by mail to the address of the account verifies that address. The token of something that was shared with an address is taken here too; then the share is answered.',
      scope: 'workspace:write',
      consent: 'person',
      ofAccount: true,
      body: {
        token: z.string().min(1).max(200).optional(),
        invitation_id: id.optional(),
      },
      reply: one(z.union([AcceptedInvitation, Share])),
      errors: ['invitation_expired', 'limit_reached', 'invalid_state'],
      beyond: true,
    }),
  },
)
