import { callersAccount, verifyEmail } from '#modules/accounts/service.ts'
import { claimShare } from '#modules/shares/service.ts'
import { claimLink, newClaimToken } from '#authz/claim-token.ts'
import { type Context, implement } from '#infra/context.ts'
import { canMail, sendMail } from '#infra/mail/mail.ts'
import { hashSecret } from '#authz/api-key.ts'
import { refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { nanoOrNull } from '#core/money.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { checkWritable } from '#authz/place.ts'
import { isHeldToOne } from '#core/principal.ts'
import { changeRights, changeWithin, lockWorkspace, refusePersonal, recordRightsChange } from '../change.ts'
import { invitations } from '../contract-invitations.ts'
import { checkGrant, mayGrant, placeOf } from '../grant.ts'
import { invitationMail } from './invitation-mail.ts'
import { previewInvitation } from './preview.ts'
import { type InvitationRow, invitationStore } from '../invitation-store.ts'
import { memberStore } from '../member-store.ts'
import { checkManager, tellOf } from '../members.ts'
import { checkRoomFor, joinAs } from '../service.ts'
import { showInvitation, showMember, statusOf } from '../show.ts'

const DAYS = 7
const MAX_OPEN = 1000

export const invitationService = implement(invitations, {
  async list(ctx, { id, status, cursor, limit }) {
    const filters = { id, status }
    const before = positionOf('invitations', filters, cursor)
    const rows = await invitationStore.list(ctx.db, id, status, (before?.[0] as Id) ?? null, limit + 1)
    return pageOf(
      rows,
      limit,
      (row) => cursorOf('invitations', filters, [row.id]),
      (row) => showInvitation(row, ctx.now()),
    )
  },

  create: (ctx, { id, email, role, permissions, spend_cap_usd, spend_cap_period }) =>
    changeWithin(ctx, async (ctx, locked) => {
      checkManager(locked)
      refusePersonal(
        locked.workspace,
        'A personal workspace has only one member. Create a workspace to collaborate with others.',
      )
      checkGrant(locked.me, { role, permissions })
      if (await memberStore.byEmail(ctx.db, id, email))
        refuse('already_exists', { param: 'email', message: 'A member with this email address already exists.' })
      await invitationStore.revokeOpen(ctx.db, id, email)
      if ((await invitationStore.countOpen(ctx.db, id)) >= MAX_OPEN)
        refuse('limit_reached', {
          message: `A workspace can have up to ${MAX_OPEN} open invitations. Revoke some first.`,
          details: { limit: MAX_OPEN },
        })
      const handed = newClaimToken()
      const mailed = canMail(ctx.engine) ? newClaimToken() : null
      const row = await invitationStore.insert(ctx.db, {
        id: newId(),
        workspace_id: id,
        email,
        role,
        permissions,
        spend_cap_nano: nanoOrNull(spend_cap_usd),
        spend_cap_period,
        token_hash: handed.hash,
        mail_token_hash: mailed?.hash ?? null,
        expires_at: new Date(ctx.now().getTime() + DAYS * 86_400_000),
        created_by: ctx.principal.accountId,
      })
      if (mailed !== null)
        await sendMail(
          ctx,
          invitationMail({
            to: email,
            workspace: locked.workspace.name,
            inviter: locked.me.name,
            role,
            link: claimLink(ctx.engine, mailed.token),
            token: mailed.token,
            expiresAt: row.expires_at,
          }),
        )
      await tellAbout(ctx, 'invitation.created', row)
      return {
        ...showInvitation(row, ctx.now()),
        token: mailed === null ? handed.token : null,
        url: claimLink(ctx.engine, handed.token),
      }
    }),

  async revoke(ctx, { invitation_id }) {
    if (invitation_id === undefined)
      return refuse('missing_parameter', { param: 'invitation_id', message: '`invitation_id` is required.' })
    await changeWithin(ctx, async (ctx, { workspace }) => {
      const row = await invitationStore.get(ctx.db, invitation_id)
      if (row === undefined || row.workspace_id !== workspace.id) return refuse('not_found', { param: 'invitation_id' })
      if (row.status === 'accepted')
        refuse('invalid_state', {
          message: 'The invitation was already accepted. Remove the member instead.',
          details: { status: 'accepted', allowed: [] },
        })
      if (row.status === 'revoked') return
      await tellAbout(
        ctx,
        'invitation.revoked',
        await invitationStore.update(ctx.db, row.id, { status: 'revoked', revoked_at: ctx.now() }),
      )
    })
    return { id: invitation_id }
  },

  async received(ctx, { cursor, limit }) {
    const { id, email, email_verified_at } = await callersAccount(ctx)
    const before = positionOf('invitations_received', id, cursor)
    if (email_verified_at === null || isHeldToOne(ctx.principal)) return { rows: [], next: null }
    const rows = await invitationStore.received(ctx.db, email, (before?.[0] as Id) ?? null, limit + 1)
    return pageOf(
      rows,
      limit,
      (row) => cursorOf('invitations_received', id, [row.id]),
      (row) => ({
        ...showInvitation(row, ctx.now()),
        workspace_name: row.workspace_name,
        invited_by: row.invited_by,
      }),
    )
  },

  preview: (ctx, { token }) => previewInvitation(ctx, token),

  async accept(ctx, { token, invitation_id }) {
    if ((token === undefined) === (invitation_id === undefined))
      return refuse(token === undefined ? 'missing_parameter' : 'invalid_parameter', {
        param: 'token',
        message: 'Send either `token` or `invitation_id`.',
      })
    if (token !== undefined && (await invitationStore.byToken(ctx.db, hashSecret(token))) === undefined) {
      const share = await claimShare(ctx, token)
      if (share !== null) return share
    }
    return changeRights(ctx, async (ctx) => {
      const account = await callersAccount(ctx)
      const presented =
        token === undefined
          ? await addressedTo(ctx, invitation_id!, account)
          : await invitationStore.byToken(ctx.db, hashSecret(token))
      const gone = { param: token === undefined ? 'invitation_id' : 'token', message: 'The invitation doesn’t exist.' }
      if (presented === undefined) return refuse('not_found', gone)
      // Locked before checking, so it can't be revoked or accepted meanwhile.
      const workspace = await lockWorkspace(ctx, presented.workspace_id)
      const invitation = (await invitationStore.get(ctx.db, presented.id)) ?? refuse('not_found', gone)
      const member = await memberStore.get(ctx.db, workspace.id, account.id)
      if (invitation.status === 'accepted' && invitation.accepted_by === account.id && member !== undefined)
        return { ...showInvitation(invitation, ctx.now()), member: showMember(member, null) }
      const status = statusOf(invitation, ctx.now())
      if (status !== 'pending') refuse('invitation_expired', { message: over[status] })
      const inviter = invitation.created_by && (await memberStore.get(ctx.db, workspace.id, invitation.created_by))
      if (!inviter || !mayGrant(inviter, invitation)) refuse('invitation_expired', { message: over.withdrawn })
      checkWritable(placeOf(invitation, workspace.status))

      const isTheirs = invitation.email.toLowerCase() === account.email.toLowerCase()
      if (cameByMail(invitation, token) && isTheirs) await verifyEmail(ctx, account.id)
      if (member === undefined) {
        await checkRoomFor(ctx, account.id)
        await joinAs(ctx, workspace.id, account.id, invitation, {
          created_by: invitation.created_by,
          budget: { nano: invitation.spend_cap_nano, period: invitation.spend_cap_period },
        })
      }
      const joined = (await memberStore.get(ctx.db, workspace.id, account.id))!
      const row = await invitationStore.update(ctx.db, invitation.id, {
        status: 'accepted',
        accepted_by: account.id,
        accepted_at: ctx.now(),
      })
      await tellAbout(ctx, 'invitation.accepted', row)
      if (member === undefined) await tellOf(ctx, 'member.added', joined, { invitation_id: row.id })
      return { ...showInvitation(row, ctx.now()), member: showMember(joined, null) }
    })
  },
})

const over = {
  accepted: 'The invitation was already accepted.',
  revoked: 'The invitation was revoked. Ask for a new one.',
  expired: 'The invitation has expired. Ask for a new one.',
  withdrawn: 'The person who invited you can no longer invite members. Ask for a new invitation.',
}

/** Finds an invitation to this account's address, if the address is verified. */
async function addressedTo(
  ctx: Context,
  id: Id,
  { email, email_verified_at }: { email: string; email_verified_at: Date | null },
): Promise<InvitationRow | undefined> {
  const row = email_verified_at === null ? undefined : await invitationStore.get(ctx.db, id)
  return row?.email.toLowerCase() === email.toLowerCase() ? row : undefined
}

/** Whether this is the emailed token, which proves access to the mailbox. */
const cameByMail = ({ mail_token_hash }: InvitationRow, token: string | undefined): boolean =>
  token !== undefined && mail_token_hash !== null && hashSecret(token).equals(mail_token_hash)

const tellAbout = (
  ctx: Context,
  action: 'invitation.created' | 'invitation.revoked' | 'invitation.accepted',
  { id, workspace_id, email, role, permissions, status }: InvitationRow,
): Promise<void> =>
  recordRightsChange(ctx, {
    action,
    workspaceId: workspace_id,
    id,
    data: { role, status },
    details: { email, permissions },
  })
