import { callersAccount } from '#modules/accounts/service.ts'
import { checkKept, isHidden } from '#modules/chats/service.ts'
import { writeAudit } from '#authz/audit.ts'
import { checkMet } from '#authz/members.ts'
import { type Context, implement } from '#infra/context.ts'
import { canMail, sendMail } from '#infra/mail/mail.ts'
import { rightsChanged } from '#authz/rights.ts'
import { placeIn } from '#authz/resources.ts'
import { type Access, type SharedType, scopesOf } from '#authz/shares.ts'
import { hashSecret } from '#authz/api-key.ts'
import { claimLink, newClaimToken } from '#authz/claim-token.ts'
import { type RefusalMore, absent, refuse } from '#core/errors.ts'
import { type Id, newId } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { checkPlace, checkWritable } from '#authz/place.ts'
import { type Membership, hasScope, isHeldToOne } from '#core/principal.ts'
import type { Scope } from '#core/scopes.ts'
import { iso, isoOrNull } from '#core/time.ts'
import { shares, sharedWithMe } from './contract.ts'
import { shareMail } from './mail.ts'
import { sharerStillMay } from './sharer.ts'
import { type Grantee, type NamedShare, shareStore } from './store.ts'

const kinds = ['chat', 'agent', 'file', 'folder'] as const

const MAX_SHARES = 1_000

interface ShareSelector {
  share_id?: Id | undefined
  resource_type?: SharedType | undefined
  resource_id?: Id | undefined
  grantee?: Grantee | undefined
}

export const shareService = implement(shares, {
  async list(ctx, { resource_type, resource_id, cursor, limit }) {
    await resourceFor(ctx, resource_type, resource_id, 'view', 'share:read')
    const before = positionOf('shares', resource_id, cursor)
    const rows = await shareStore.list(ctx.db, resource_id, (before?.[0] as Id) ?? null, limit + 1)
    return pageOf(rows, limit, ({ id }) => cursorOf('shares', resource_id, [id]), showShare)
  },

  async given(ctx, { cursor, limit }) {
    const { accountId } = ctx.principal
    const before = positionOf('given_shares', accountId, cursor)
    const rows = await shareStore.givenBy(ctx.db, ctx.principal, {
      types: kinds.filter((type) => hasScope(ctx.principal, scopesOf(type).read)),
      before: (before?.[0] as Id) ?? null,
      limit: limit + 1,
    })
    const titles = await titlesOf(ctx, rows)
    return pageOf(
      rows,
      limit,
      ({ id }) => cursorOf('given_shares', accountId, [id]),
      (row) => ({ ...showShare(row), title: titles.get(row.resource_id) ?? null }),
    )
  },

  async create(ctx, { resource_type, resource_id, grantee, access }) {
    const { title, place } = await resourceFor(ctx, resource_type, resource_id, access)
    checkWritable(place)
    await checkGrantee(ctx, grantee)
    const id = newId()
    const handed = 'email' in grantee ? newClaimToken() : null
    const mailed = handed !== null && canMail(ctx.engine) ? newClaimToken() : null
    const row = await changeRights(ctx, async (ctx) => {
      if ((await shareStore.count(ctx.db, resource_id)) >= MAX_SHARES)
        refuse('limit_reached', {
          message: `A resource can be shared up to ${MAX_SHARES} times.`,
          details: { limit: MAX_SHARES },
        })
      const inserted = await shareStore.insert(ctx.db, {
        id,
        resource_id,
        resource_type,
        access,
        grantee,
        token_hash: handed?.hash ?? null,
        mail_token_hash: mailed?.hash ?? null,
        created_by: ctx.principal.accountId,
      })
      if (!inserted) {
        const existing = await shareStore.find(ctx.db, resource_id, grantee)
        refuse('already_exists', {
          param: 'grantee',
          message: 'This is already shared with them. Use `PATCH /shares` to change the access.',
          details: { share_id: existing?.id, access: existing?.access },
        })
      }
      const row = (await shareStore.get(ctx.db, id))!
      if (mailed !== null)
        await sendMail(
          ctx,
          shareMail({
            to: row.email!,
            what: title ?? resource_type,
            by: row.shared_by ?? 'Somebody',
            access,
            link: claimLink(ctx.engine, mailed.token),
            token: mailed.token,
          }),
        )
      await emitShareEvent(ctx, 'share.created', row)
      return row
    })
    return {
      ...showShare(row),
      token: mailed === null && handed !== null ? handed.token : null,
      url: handed === null ? placeInApp(ctx, row) : claimLink(ctx.engine, handed.token),
    }
  },

  update: (ctx, { access, ...which }) =>
    changeRights(ctx, async (ctx) => {
      const row = await shareFor(ctx, which)
      checkWritable((await resourceFor(ctx, row.resource_type, row.resource_id, access)).place)
      if (row.access === access) return showShare(row)
      await shareStore.update(ctx.db, row.id, { access })
      const updated = (await shareStore.get(ctx.db, row.id))!
      await emitShareEvent(ctx, 'share.updated', updated, { before: row.access })
      return showShare(updated)
    }),

  async revoke(ctx, { user_id, email, workspace_id, ...which }) {
    const grantee = which.grantee ?? granteeOf({ user_id, email, workspace_id })
    return changeRights(ctx, async (ctx) => {
      const row = await shareFor(ctx, { ...which, ...(grantee && { grantee }) })
      // Grantees can return a share; members of the workspace can revoke it.
      if (!isOwn(ctx, row)) await resourceFor(ctx, row.resource_type, row.resource_id, 'edit')
      await emitShareEvent(ctx, 'share.revoked', row)
      await shareStore.delete(ctx.db, row.id)
      return { id: row.id }
    })
  },
})

export const sharedWithMeService = implement(sharedWithMe, {
  async list(ctx, { resource_type, cursor, limit }) {
    const filters = { resource_type }
    const before = positionOf('shared_with_me', filters, cursor)
    const readable = kinds.filter((type) => hasScope(ctx.principal, scopesOf(type).read))
    if (resource_type !== undefined && !readable.includes(resource_type))
      refuse('missing_scope', {
        message: `The key is missing the scope \`${scopesOf(resource_type).read}\`.`,
        details: { required_scope: scopesOf(resource_type).read },
      })
    const rows = await shareStore.received(ctx.db, ctx.principal, {
      types: resource_type === undefined ? readable : [resource_type],
      before: (before?.[0] as Id) ?? null,
      limit: limit + 1,
    })
    const titles = await titlesOf(ctx, rows)
    return pageOf(
      rows,
      limit,
      ({ id }) => cursorOf('shared_with_me', filters, [id]),
      (row) => ({ ...showShare(row), title: titles.get(row.resource_id) ?? null, shared_by: row.shared_by }),
    )
  },
})

export async function claimShare(ctx: Context, token: string): Promise<ReturnType<typeof showShare> | null> {
  return changeRights(ctx, async (ctx) => {
    const row = await shareStore.byToken(ctx.db, hashSecret(token))
    if (row === undefined) return null
    const { id: accountId, email, email_verified_at } = await callersAccount(ctx)
    if (row.claimed_by === accountId) return showShare(row)
    if (row.claimed_by !== null) return refuse('invitation_expired', { message: 'This share was already claimed.' })
    // A confirmed address gets the share without its link.
    const isNamed = email_verified_at !== null && email.toLowerCase() === row.email?.toLowerCase()
    if (!isNamed && !(await sharerStillMay(ctx.db, row)))
      return refuse('invitation_expired', {
        message: 'The person who shared this with you can no longer share it. Ask them for access again.',
      })
    await shareStore.update(ctx.db, row.id, { claimed_by: accountId, claimed_at: ctx.now() })
    const claimedShare = (await shareStore.get(ctx.db, row.id))!
    await emitShareEvent(ctx, 'share.claimed', claimedShare)
    return showShare(claimedShare)
  })
}

/**
 * Shows a share to the holder of its link, with the resource's title while the link works. Null if no share has this
 * token.
 */
export async function previewShare({ db }: Context, token: string) {
  const row = await shareStore.byToken(db, hashSecret(token))
  if (row === undefined) return null
  const status: 'accepted' | 'pending' | 'revoked' =
    row.claimed_by !== null ? 'accepted' : (await sharerStillMay(db, row)) ? 'pending' : 'revoked'
  const shared = status === 'pending' ? await shareStore.resource(db, row.resource_type, row.resource_id) : undefined
  return {
    id: row.id,
    created_at: iso(row.created_at),
    status,
    email: row.email!,
    invited_by: row.shared_by,
    resource_type: row.resource_type,
    title: shared === undefined || shared.status === 'trashed' ? null : shared.title,
    access: row.access,
  }
}

const placeInApp = ({ engine }: Context, { resource_type, resource_id }: NamedShare): string =>
  `${engine.origin()}/app/${resource_type === 'chat' ? `chats/${resource_id}` : 'shared-with-me'}`

/**
 * Returns the resource if the caller is a member of its workspace and has the access that the share gives. Throws
 * `not_found` otherwise.
 */
async function resourceFor(
  ctx: Context,
  type: SharedType,
  id: Id,
  access: Access,
  own: Scope = 'share:write',
): Promise<{ place: Membership; title: string | null }> {
  const notFound: RefusalMore = { param: 'resource_id', message: absent(type) }
  const sharedResource = await shareStore.resource(ctx.db, type, id)
  if (sharedResource === undefined || isHidden(ctx.principal, sharedResource)) return refuse('not_found', notFound)
  const place = placeIn(ctx, sharedResource.workspace_id, notFound)
  const { read, write } = scopesOf(type)
  const scope = access === 'edit' ? write : read
  if (!hasScope(ctx.principal, scope))
    refuse('missing_scope', {
      message: `The key is missing the scope \`${scope}\`.`,
      details: { required_scope: scope },
    })
  checkPlace(place, scope)
  checkPlace(place, own)
  if (sharedResource.status === 'trashed')
    refuse('invalid_state', {
      message: `This ${type} is in the trash, so it can’t be shared. Restore it first.`,
      details: { status: 'trashed', allowed: ['restore', 'permanent-delete'] },
    })
  if (own === 'share:write') checkKept(sharedResource, 'shared')
  return { place, title: sharedResource.title }
}

/** Accepts an account ID only if the caller already knows it, so that sharing doesn't reveal who has an account. */
async function checkGrantee(ctx: Context, grantee: Grantee): Promise<void> {
  if ('workspace_id' in grantee)
    return void placeIn(ctx, grantee.workspace_id, { param: 'grantee.workspace_id', message: absent('workspace') })
  if (!('user_id' in grantee)) return
  if (grantee.user_id === ctx.principal.accountId)
    refuse('invalid_parameter', { param: 'grantee.user_id', message: 'You already have access to this.' })
  await checkMet(
    ctx,
    grantee.user_id,
    'grantee.user_id',
    '`user_id` must be a member of one of your workspaces. Use `email` instead.',
  )
}

async function shareFor(
  ctx: Context,
  { share_id, resource_id, resource_type, grantee }: ShareSelector,
): Promise<NamedShare> {
  const notFound = { param: share_id === undefined ? 'resource_id' : 'share_id', message: absent('share') }
  if (share_id === undefined && (resource_id === undefined || grantee === undefined))
    return refuse('missing_parameter', {
      param: 'share_id',
      message: 'Send `share_id`, or `resource_id` and the grantee.',
    })
  const row =
    share_id !== undefined
      ? await shareStore.get(ctx.db, share_id)
      : await shareStore.find(ctx.db, resource_id!, grantee!)
  if (row === undefined || (resource_type !== undefined && row.resource_type !== resource_type))
    return refuse('not_found', notFound)
  if (!isOwn(ctx, row)) placeIn(ctx, row.home, notFound)
  return row
}

/** False for keys limited to one workspace. */
function isOwn({ principal }: Context, { account_id, claimed_by }: NamedShare): boolean {
  if (isHeldToOne(principal)) return false
  return account_id === principal.accountId || claimed_by === principal.accountId
}

function granteeOf(input: {
  user_id?: Id | undefined
  email?: string | undefined
  workspace_id?: Id | undefined
}): Grantee | null {
  const { user_id, email, workspace_id } = input
  if (user_id !== undefined) return { user_id }
  if (email !== undefined) return { email }
  return workspace_id === undefined ? null : { workspace_id }
}

async function changeRights<T>(ctx: Context, change: (ctx: Context) => Promise<T>): Promise<T> {
  const result = await ctx.transaction(change)
  await ctx.engine.rights.refresh()
  return result
}

async function emitShareEvent(
  ctx: Context,
  action: string,
  row: NamedShare,
  details: Record<string, unknown> = {},
): Promise<void> {
  const accountIds = await shareStore.reachedAccounts(ctx.db, row)
  await rightsChanged(ctx.db, accountIds)
  const data = { resource_type: row.resource_type, resource_id: row.resource_id, access: row.access }
  await writeAudit(ctx, {
    action,
    workspaceId: row.home,
    subject: { type: 'share', id: row.id },
    details: { ...data, account_id: row.account_id, workspace_id: row.workspace_id, email: row.email, ...details },
  })
  await ctx.emit({
    type: action,
    channels: [`workspace:${row.home}`, ...accountIds.map((id) => `user:${id}`)],
    resource: { type: 'share', id: row.id },
    data: { id: row.id, workspace_id: row.home, ...data },
  })
}

const titlesOf = ({ db }: Context, rows: readonly { resource_id: Id }[]): Promise<Map<Id, string | null>> =>
  shareStore.titles(
    db,
    rows.map(({ resource_id }) => resource_id),
  )

const showShare = (row: NamedShare) => ({
  id: row.id,
  resource_type: row.resource_type,
  resource_id: row.resource_id,
  workspace_id: row.home,
  grantee: {
    user_id: row.account_id ?? row.claimed_by,
    workspace_id: row.workspace_id,
    email: row.email,
    name: row.grantee_name,
  },
  access: row.access,
  status: row.email !== null && row.claimed_by === null ? ('pending' as const) : ('active' as const),
  claimed_at: isoOrNull(row.claimed_at),
  created_by: row.created_by,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})
