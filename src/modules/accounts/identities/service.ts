import { randomBytes } from 'node:crypto'
import { writeAudit } from '#authz/audit.ts'
import { rightsChanged } from '#authz/rights.ts'
import type { Context } from '#infra/context.ts'
import { sqlState } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import { type Id, newId } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { isSameText } from '#core/text/same-text.ts'
import { iso, isoOrNull } from '#core/time.ts'
import { networkSubject, refundLogin, takeChallengeOf, takeLogin, takeSignUp } from '../sign-in/attempts.ts'
import { type Purpose, type RedeemedChallenge, makeChallenge, takeChallenge } from '../sign-in/challenges.ts'
import { createAccount, requireInvitation } from '../sign-in/join.ts'
import { requireProof, requireProofAlone, sessionId } from '../sign-in/proof.ts'
import { startSession } from '../sign-in/sessions.ts'
import { checkAnotherWay, waysOf } from '../sign-in/ways.ts'
import { identities } from '../contract-identities.ts'
import { showAccount } from '../show.ts'
import { type AccountRow, accountStore, sessionStore } from '../store.ts'
import { type IdentityRow, identityStore } from './identity-store.ts'
import type { Claims } from './claims.ts'
import type { HasProvider, IdentityProvider } from './provider.ts'

const SIGN_IN_SECONDS = 900
const MAX_IDENTITIES = 20

type Ctx = Context<HasProvider>

/** Sealed in the challenge until the browser returns. */
interface Waiting {
  secret: string
  nonce: string
  verifier: string
  redirectUri: string
  invitationToken: string | null
}

export const identityService = implementWith<Ctx>()(identities, {
  async list(ctx, { cursor, limit }) {
    const { accountId } = ctx.principal
    const before = positionOf('identities', accountId, cursor)
    const rows = await identityStore.list(ctx.db, accountId, (before?.[0] as string) ?? null, limit + 1)
    return pageOf(rows, limit, ({ id }) => cursorOf('identities', accountId, [id]), showIdentity)
  },

  async start_sign_in(ctx, { invitation_token }) {
    await takeChallengeOf(ctx)
    return start(ctx, 'identity.sign_in', null, invitation_token ?? null)
  },

  async sign_in(ctx, { secret, query }) {
    const subjects = [networkSubject(ctx)]
    await takeLogin(ctx, subjects)
    const { claims, waiting } = await comeBack(ctx, 'identity.sign_in', secret, query)
    const account = await ctx.transaction(async (ctx) => {
      const identity = await identityStore.use(ctx.db, claims.issuer, claims.subject, claims.email)
      const account = identity ? await accountStore.get(ctx.db, identity.account_id) : await join(ctx, claims, waiting)
      if (!account) return refuse('invalid_credentials')
      const identityId = identity?.id ?? (await add(ctx, account.id, claims)).id
      // Counts as proof only without a password or passkey: the provider may have reused an old session.
      const ways = await waysOf(ctx.db, account.id)
      await startSession(ctx, account.id, { proved: !ways.password && ways.passkeys === 0, identityId })
      return account
    })
    await refundLogin(ctx, subjects)
    return showAccount(account)
  },

  async start_link(ctx) {
    await requireProof(ctx)
    return start(ctx, 'identity.link', ctx.principal.accountId, null)
  },

  async link(ctx, { secret, query }) {
    await requireProof(ctx)
    const { claims } = await comeBack(ctx, 'identity.link', secret, query)
    const { accountId } = ctx.principal
    return ctx.transaction(async (ctx) => {
      await requireProofAlone(ctx)
      if ((await identityStore.list(ctx.db, accountId, null, MAX_IDENTITIES)).length >= MAX_IDENTITIES)
        refuse('limit_reached', { message: `You can link up to ${MAX_IDENTITIES} identity provider accounts.` })
      const row = await add(ctx, accountId, claims)
      await tell(ctx, 'identity.linked', row)
      return showIdentity(row)
    })
  },

  async unlink(ctx, { id }) {
    const { accountId } = ctx.principal
    await ctx.transaction(async (ctx) => {
      const rows = await identityStore.list(ctx.db, accountId, null, MAX_IDENTITIES)
      if (!rows.some((row) => row.id === id)) refuse('not_found', { param: 'id' })
      await requireProof(ctx)
      await checkAnotherWay(ctx, 'identities')
      const row = (await identityStore.remove(ctx.db, accountId, id)) ?? refuse('not_found', { param: 'id' })
      await sessionStore.endStartedWith(ctx.db, accountId, id, sessionId(ctx))
      await rightsChanged(ctx.db, [accountId])
      await tell(ctx, 'identity.unlinked', row)
    })
    await ctx.engine.rights.refresh()
    return { id }
  },
})

const providerOf = ({ engine: { identityProvider } }: Ctx): IdentityProvider =>
  identityProvider ??
  refuse('not_supported', {
    message: 'This instance has no identity provider. Its administrator can set UK_OIDC_ISSUER.',
  })

/** `state` returns through the browser. `secret` stays with the page that started, so no other page can continue. */
async function start(ctx: Ctx, purpose: Purpose, accountId: Id | null, invitationToken: string | null) {
  const provider = providerOf(ctx)
  const waiting: Waiting = {
    secret: randomBytes(32).toString('base64url'),
    nonce: randomBytes(32).toString('base64url'),
    verifier: randomBytes(32).toString('base64url'),
    redirectUri: `${ctx.caller.origin ?? ctx.engine.origin()}/app/signed-in`,
    invitationToken,
  }
  const { token, expiresAt } = await makeChallenge(ctx, purpose, {
    accountId,
    seconds: SIGN_IN_SECONDS,
    payload: waiting,
  })
  const url = await provider.begin({ ...waiting, state: token })
  return { id: newId(), created_at: iso(ctx.now()), expires_at: iso(expiresAt), url, secret: waiting.secret }
}

async function comeBack(
  ctx: Ctx,
  purpose: Purpose,
  secret: string,
  query: string,
): Promise<{ claims: Claims; waiting: Waiting }> {
  const provider = providerOf(ctx)
  const state = new URLSearchParams(query).get('state') ?? ''
  const challenge: RedeemedChallenge | null = await takeChallenge(ctx, purpose, state)
  const waiting = challenge?.payload as Waiting | undefined
  if (!challenge || !waiting || !isSameText(secret, waiting.secret))
    return refuse('link_expired', {
      message: 'This sign-in has expired, was started in another browser, or was already used. Start again.',
    })
  if (challenge.accountId !== null && challenge.accountId !== ctx.principal.accountId)
    return refuse('link_expired', { message: 'This was started for another account. Start again.' })
  return { claims: await provider.finish({ ...waiting, state }, query), waiting }
}

async function join(ctx: Ctx, claims: Claims, { invitationToken }: Waiting): Promise<AccountRow> {
  const { oidc } = ctx.engine.config
  if (await accountStore.lockFirst(ctx.db))
    refuse('setup_required', {
      message: 'This instance has no accounts yet. Create the first one with a password and the setup token.',
    })
  const { email, verified, name } = claims
  if (email === null)
    return refuse('policy_denied', {
      message:
        'The identity provider didn’t send an email address. Ask its administrator to send the `email` claim to this app.',
    })
  if (verified === false)
    return refuse('policy_denied', {
      message:
        'The identity provider says that your email address isn’t verified. Verify it there, then sign in again.',
    })
  const rule = oidc!.join
  // Owners of an existing account learn how to link it, under every rule.
  if (verified === true) await checkFree(ctx, email)
  if (rule !== 'anyone') await mayJoin(ctx, rule, { email, verified: verified === true }, invitationToken)
  if (verified !== true) await checkFree(ctx, email)
  if (rule === 'anyone') await takeSignUp(ctx)
  return createAccount(ctx, {
    email,
    verified: verified === true,
    name: name ?? email.slice(0, email.indexOf('@')),
    passwordHash: null,
    first: false,
  })
}

/** An address doesn't identify a person. The account's owner has to link it (decision 0121). */
async function checkFree(ctx: Ctx, email: string): Promise<void> {
  if (await accountStore.byEmail(ctx.db, email))
    refuse('already_exists', {
      message:
        'An account with your email address already exists. Sign in to it, then link the identity provider under Settings > Security.',
    })
}

type Rule = NonNullable<Ctx['engine']['config']['oidc']>['join']

/** An unverified address matches neither a domain nor an invitation, but an invitation's token still counts. */
async function mayJoin(
  ctx: Ctx,
  rule: Exclude<Rule, 'anyone'>,
  { email, verified }: { email: string; verified: boolean },
  invitationToken: string | null,
): Promise<void> {
  if (rule === 'nobody')
    refuse('policy_denied', {
      message:
        'You have no account here, and signing in with the identity provider doesn’t create one. Ask the administrator.',
    })
  if (verified) {
    if (typeof rule === 'object' && rule.domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase())) return
    if (await identityStore.isAddressInvited(ctx.db, email)) return
  } else if (invitationToken === null)
    refuse('policy_denied', {
      message:
        'The identity provider doesn’t say whether your email address is verified, so it can’t be checked against the list of people who can join. Ask an administrator for an invitation link.',
    })
  await requireInvitation(ctx, invitationToken ?? undefined, email)
}

const add = (ctx: Ctx, account_id: Id, { issuer, subject, email }: Claims): Promise<IdentityRow> =>
  identityStore
    .insert(ctx.db, { id: newId(), account_id, issuer, subject, email, last_used_at: ctx.now() })
    .catch((error: unknown) => {
      if (sqlState(error) !== '23505') throw error
      return refuse('already_exists', {
        message: 'This identity provider account is already linked to an account.',
      })
    })

async function tell(ctx: Ctx, type: 'identity.linked' | 'identity.unlinked', row: IdentityRow): Promise<void> {
  await writeAudit(ctx, {
    action: type,
    workspaceId: null,
    subject: { type: 'identity', id: row.id },
    details: { issuer: row.issuer, email: row.email },
  })
  await ctx.emit({
    type,
    channels: [`user:${row.account_id}`],
    resource: { type: 'identity', id: row.id },
    data: { id: row.id },
  })
}

const showIdentity = (row: IdentityRow) => ({
  id: row.id,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  issuer: row.issuer,
  email: row.email,
  last_used_at: isoOrNull(row.last_used_at),
})
