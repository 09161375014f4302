import type { z } from 'zod'
import { hashSecret } from '#authz/api-key.ts'
import { ofNetwork, refundLogin, takeLogin } from '#modules/accounts/service.ts'
import { previewShare } from '#modules/shares/service.ts'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import { iso } from '#core/time.ts'
import type { InvitationPreview } from '../contract-invitations.ts'
import { mayGrant } from '../grant.ts'
import { type InvitationRow, invitationStore } from '../invitation-store.ts'
import { memberStore } from '../member-store.ts'
import { statusOf } from '../show.ts'
import { workspaceStore } from '../store.ts'

type Preview = z.output<typeof InvitationPreview>

/** Shows a token's holder who invites into what. Guesses count as failed sign-ins. */
export async function previewInvitation(ctx: Context, token: string): Promise<Preview> {
  const subjects = [ofNetwork(ctx)]
  await takeLogin(ctx, subjects)
  const found = (await previewOf(ctx, token)) ?? (await sharePreview(ctx, token))
  if (found === null)
    return refuse('not_found', { param: 'token', message: 'The invitation doesn’t exist or was revoked.' })
  await refundLogin(ctx, subjects)
  return found
}

async function previewOf(ctx: Context, token: string): Promise<Preview | null> {
  const row = await invitationStore.byToken(ctx.db, hashSecret(token))
  const workspace = row && (await workspaceStore.get(ctx.db, row.workspace_id))
  if (row === undefined || workspace === undefined) return null
  const inviter = row.created_by === null ? null : await invitationStore.nameOf(ctx.db, row.created_by)
  return {
    id: row.id,
    created_at: iso(row.created_at),
    kind: 'workspace',
    status: await presentStatus(ctx, row),
    email: row.email,
    invited_by: inviter,
    workspace_name: workspace.name,
    role: row.role,
    resource_type: null,
    title: null,
    access: null,
    expires_at: iso(row.expires_at),
  }
}

/** The status that accepting would find: an invitation is revoked once its inviter may no longer invite. */
async function presentStatus(ctx: Context, row: InvitationRow): Promise<Preview['status']> {
  const status = statusOf(row, ctx.now())
  if (status !== 'pending') return status
  const inviter = row.created_by && (await memberStore.get(ctx.db, row.workspace_id, row.created_by))
  return inviter && mayGrant(inviter, row) ? 'pending' : 'revoked'
}

async function sharePreview(ctx: Context, token: string): Promise<Preview | null> {
  const share = await previewShare(ctx, token)
  return share && { ...share, kind: 'share', workspace_name: null, role: null, expires_at: null }
}
