import { writeAudit } from '#authz/audit.ts'
import { type Context, implement } from '#infra/context.ts'
import { sqlState } from '#infra/postgres/client.ts'
import { refuse } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import { cursorOf, pageOf, positionOf } from '#core/paging.ts'
import { iso, isoOrNull } from '#core/time.ts'
import { networkSubject, refundLogin, takeChallengeOf, takeLogin } from '../sign-in/attempts.ts'
import { requireProof, requireProofAlone } from '../sign-in/proof.ts'
import { startSession } from '../sign-in/sessions.ts'
import { checkAnotherWay } from '../sign-in/ways.ts'
import { passkeys } from '../contract-passkeys.ts'
import { showAccount } from '../show.ts'
import { accountStore } from '../store.ts'
import { type Options, creationOptions, verifyRegistration, verifyAuthentication, requestOptions } from './ceremony.ts'
import { type PasskeyRow, passkeyStore } from './passkey-store.ts'

const MAX_PASSKEYS = 50

export const passkeyService = implement(passkeys, {
  async list(ctx, { cursor, limit }) {
    const { accountId } = ctx.principal
    const before = positionOf('passkeys', accountId, cursor)
    const rows = await passkeyStore.list(ctx.db, accountId, (before?.[0] as string) ?? null, limit + 1)
    return pageOf(rows, limit, ({ id }) => cursorOf('passkeys', accountId, [id]), showPasskey)
  },

  async creation_options(ctx) {
    await requireProof(ctx)
    const account = (await accountStore.get(ctx.db, ctx.principal.accountId)) ?? refuse('session_expired')
    return showOptions(ctx, await creationOptions(ctx, account, await fewerThanMost(ctx)))
  },

  async create(ctx, { name, credential }) {
    await requireProof(ctx)
    const newPasskey = await verifyRegistration(ctx, credential)
    const { accountId } = ctx.principal
    return ctx.transaction(async (ctx) => {
      await requireProofAlone(ctx)
      await fewerThanMost(ctx)
      const row = await passkeyStore
        .insert(ctx.db, { id: newId(), account_id: accountId, name, ...newPasskey })
        .catch((error: unknown) => {
          if (sqlState(error) !== '23505') throw error
          return refuse('already_exists', { message: 'This passkey is already registered.' })
        })
      await writeAudit(ctx, {
        action: 'passkey.added',
        workspaceId: null,
        subject: { type: 'passkey', id: row.id },
        details: { name, rp_id: row.rp_id },
      })
      await ctx.emit(changeEvent(accountId, row.id, 'passkey.added'))
      return showPasskey(row)
    })
  },

  async update(ctx, { id, name }) {
    const row = await passkeyStore.rename(ctx.db, ctx.principal.accountId, id, name)
    return showPasskey(row ?? refuse('not_found', { param: 'id' }))
  },

  async delete(ctx, { id }) {
    const { accountId } = ctx.principal
    await ctx.transaction(async (ctx) => {
      const rows = await passkeyStore.list(ctx.db, accountId, null, MAX_PASSKEYS)
      if (!rows.some((row) => row.id === id)) refuse('not_found', { param: 'id' })
      await requireProof(ctx)
      await checkAnotherWay(ctx, 'passkeys')
      const row = (await passkeyStore.remove(ctx.db, accountId, id)) ?? refuse('not_found', { param: 'id' })
      await writeAudit(ctx, {
        action: 'passkey.removed',
        workspaceId: null,
        subject: { type: 'passkey', id },
        details: { name: row.name, rp_id: row.rp_id },
      })
      await ctx.emit(changeEvent(accountId, id, 'passkey.removed'))
    })
    return { id }
  },

  async sign_in_options(ctx) {
    await takeChallengeOf(ctx)
    return showOptions(ctx, await requestOptions(ctx, 'passkey.sign_in', { accountId: null }))
  },

  async sign_in(ctx, { credential }) {
    const subjects = [networkSubject(ctx)]
    await takeLogin(ctx, subjects)
    const { account_id } = await verifyAuthentication(ctx, 'passkey.sign_in', credential)
    await refundLogin(ctx, subjects)
    const account = (await accountStore.get(ctx.db, account_id)) ?? refuse('invalid_credentials')
    await startSession(ctx, account.id)
    return showAccount(account)
  },

  async proof_options(ctx) {
    const { accountId } = ctx.principal
    const allowedPasskeys = await passkeyStore.list(ctx.db, accountId, null, MAX_PASSKEYS)
    return showOptions(ctx, await requestOptions(ctx, 'passkey.prove', { accountId, allowed: allowedPasskeys }))
  },
})

async function fewerThanMost(ctx: Context): Promise<PasskeyRow[]> {
  const present = await passkeyStore.list(ctx.db, ctx.principal.accountId, null, MAX_PASSKEYS)
  if (present.length >= MAX_PASSKEYS)
    refuse('limit_reached', {
      message: `You can have up to ${MAX_PASSKEYS} passkeys. Remove one first.`,
      details: { limit: MAX_PASSKEYS },
    })
  return present
}

const changeEvent = (accountId: string, id: string, type: 'passkey.added' | 'passkey.removed') => ({
  type,
  channels: [`user:${accountId}`],
  resource: { type: 'passkey', id },
  data: { id },
})

const showOptions = (ctx: Context, { options, expiresAt }: Options) => ({
  id: newId(),
  created_at: iso(ctx.now()),
  expires_at: iso(expiresAt),
  options,
})

const showPasskey = (row: PasskeyRow) => ({
  id: row.id,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  name: row.name,
  rp_id: row.rp_id,
  synced: row.synced,
  last_used_at: isoOrNull(row.last_used_at),
})
