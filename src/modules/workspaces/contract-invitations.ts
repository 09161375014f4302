import { z } from 'zod'
import { Share } from '#modules/shares/contract.ts'
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
    spend_cap_usd: usd.nullable().describe('The budget that the member begins with.'),
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
    title: z
      .string()
      .nullable()
      .describe('The title or name of what is shared; null once somebody has taken it, or it is in the trash.'),
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
        spend_cap_usd: limits.spend_cap_usd.default(null),
        spend_cap_period: limits.spend_cap_period.default('month'),
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
      personal: true,
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
