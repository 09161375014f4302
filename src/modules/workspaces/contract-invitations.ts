import { z } from 'zod'
import { Share } from '#modules/shares/contract.ts'
import { account, personal, resource, secret } from '#core/access.ts'
import { area, base, deleted, endpoint, id, idOut, one, page, period, time, usd } from '#core/contract.ts'
import { roles } from '#core/scopes.ts'
import { Member, limits, permissions, role } from './contract.ts'

export const Invitation = z
  .object({
    ...base,
    workspace_id: idOut,
    email: z.string(),
    role: z.enum(roles),
    permissions: z.array(z.string()).nullable(),
    spend_cap_usd: usd.nullable().describe('The member’s initial budget.'),
    spend_cap_period: period,
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
    .describe('The token for the invited person. It’s shown only once, and is null if it was sent by email.'),
  url: z
    .string()
    .describe(
      'A link for the invited person to view and accept the invitation, with the token after `#`. It’s shown only once. The link sent by email has its own token, which also verifies the email address.',
    ),
}).meta({ id: 'NewInvitation' })

export const InvitationPreview = z
  .object({
    id: idOut,
    created_at: time,
    kind: z.enum(['workspace', 'share']).describe('An invitation to a workspace, or to a single shared resource.'),
    status: z
      .enum(['pending', 'accepted', 'revoked', 'expired'])
      .describe('`revoked` also if the inviter can no longer invite members.'),
    email: z.string().describe('The invited email address.'),
    invited_by: z.string().nullable().describe('The name of the user who invited or shared.'),
    workspace_name: z.string().nullable().describe('Null for shares, which don’t reveal their workspace.'),
    role: z.enum(roles).nullable(),
    resource_type: z.enum(['chat', 'agent', 'file', 'folder']).nullable(),
    title: z
      .string()
      .nullable()
      .describe(
        'The title or name of the shared resource. Null if the share was already claimed or the resource is in the trash.',
      ),
    access: z.enum(['view', 'edit']).nullable(),
    expires_at: time.nullable().describe('Never null.'),
  })
  .meta({ id: 'InvitationPreview' })

export const ReceivedInvitation = Invitation.extend({
  workspace_name: z.string(),
  invited_by: z.string().nullable().describe('The name of the inviter.'),
}).meta({ id: 'ReceivedInvitation' })

export const AcceptedInvitation = Invitation.extend({ member: Member }).meta({ id: 'AcceptedInvitation' })

const invitationId = id.optional().describe('The ID of the invitation, in the query or the body.')

export const invitations = area(
  'invitations',
  { title: 'Invitations', summary: 'Invite people to a workspace by email address.' },
  {
    list: endpoint('GET /workspaces/:id/invitations', {
      summary: 'List the invitations to a workspace',
      access: resource('workspace', { scope: 'member:read' }),
      query: {
        status: z
          .enum(['pending', 'accepted', 'revoked', 'expired'])
          .optional()
          .describe('Filters the list by status.'),
      },
      reply: page(Invitation),
    }),
    create: endpoint('POST /workspaces/:id/invitations', {
      summary: 'Invite a member by email address',
      description:
        'The invitation expires after 7 days. `url` is the link to share; if the server can send email, the invitation is also sent by email. Inviting the same address again replaces the pending invitation.',
      access: resource('workspace', { scope: 'member:write', role: 'admin' }),
      consent: 'person',
      body: {
        email: z
          .string()
          .trim()
          .max(254)
          .regex(/^[^\s@,;:<>()[\]"\\]+@[^\s@,;:<>()[\]"\\]+$/, 'must be an email address'),
        role: role.default('member'),
        permissions: permissions.default(null),
        spend_cap_usd: limits.spend_cap_usd.default(null),
        spend_cap_period: limits.spend_cap_period.default('month'),
      },
      reply: one(NewInvitation),
      status: 201,
      errors: ['already_exists', 'personal_workspace', 'limit_reached', 'invalid_state'],
    }),
    revoke: endpoint('DELETE /workspaces/:id/invitations', {
      summary: 'Revoke a pending invitation',
      access: resource('workspace', { scope: 'member:write', role: 'admin' }),
      consent: 'person',
      query: { invitation_id: invitationId },
      body: { invitation_id: invitationId },
      reply: deleted,
      errors: ['invalid_state'],
    }),
    received: endpoint('GET /invitations', {
      summary: 'List the caller’s pending invitations',
      description: 'Invitations to the caller’s email address, once it’s verified.',
      access: personal('workspace:read'),
      reply: page(ReceivedInvitation),
      beyond: true,
    }),
    preview: endpoint('POST /invitations/preview', {
      summary: 'Get an invitation by its token',
      description:
        'For the page that the link opens, before sign-in. An unknown token returns 404 and counts as a failed sign-in. The response doesn’t reveal whether the email address has an account.',
      access: secret(),
      body: { token: z.string().min(1).max(200) },
      reply: one(InvitationPreview),
      errors: ['rate_limited'],
      beyond: true,
    }),
    accept: endpoint('POST /invitations/accept', {
      summary: 'Accept an invitation',
      description:
        'Send its token, or `invitation_id` if the invitation was sent to the caller’s verified email address. Accepting with a token received by email verifies that address. This also claims shares to an email address; the response is then the share.',
      access: account('workspace:write'),
      consent: 'person',
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
