import type { Input, Output } from '#core/contract.ts'
import { writeAudit } from '#authz/audit.ts'
import { checkPlace, checkWritable } from '#authz/place.ts'
import { insertResource } from '#authz/resources.ts'
import { hashSecret } from '#authz/api-key.ts'
import { ofNetwork, refundLogin, takeLogin } from '#modules/accounts/service.ts'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import { newId } from '#core/ids.ts'
import { membershipIn } from '#core/principal.ts'
import { scopes as allScopes } from '#core/scopes.ts'
import type { computers } from '../contract.ts'
import { vouchesIn } from '../access.ts'
import { publishEvent } from '../events.ts'
import { checkRoom } from '../manage.ts'
import { showComputer } from '../show.ts'
import { computerStore } from '../store.ts'
import { addCredential } from './credentials.ts'
import { codeOf, halfOf, isCode } from './pairings.ts'
import { type PairingRow, pairingStore } from './store.ts'
import { shorten } from '#core/text/shorten.ts'

type Pair = (typeof computers)['endpoints']['pair']

/** Uses the current permissions of the pairing's creator. */
export async function redeem(ctx: Context, { token, name, ...machine }: Input<Pair>): Promise<Output<Pair>> {
  const subjects = [ofNetwork(ctx)]
  await takeLogin(ctx, subjects)
  const pairing = await findPairing(ctx, token)
  await refundLogin(ctx, subjects)
  const acting = await actAsMaker(ctx, pairing)
  return acting.transaction(async (ctx) => {
    if (!(await pairingStore.redeem(ctx.db, pairing.id))) over()
    await checkRoom(ctx, pairing.workspace_id, 'paired')
    const id = newId()
    await insertResource(ctx, { id, kind: 'computer', workspace_id: pairing.workspace_id })
    const called = pairing.name ?? name ?? (machine.hostname || 'Computer')
    const vouched = vouchesIn(ctx.principal, pairing.workspace_id)
    await computerStore.insert(ctx.db, { id, kind: 'paired', name: shorten(called, 120), vouched, ...machine })
    const { credential } = await addCredential(ctx.db, id)
    await pairingStore.setComputer(ctx.db, pairing.id, id)
    const row = (await computerStore.get(ctx.db, id))!
    await publishEvent(ctx, 'created', row)
    await writeAudit(ctx, {
      action: 'computer.paired',
      workspaceId: row.workspace_id,
      subject: { type: 'computer', id },
      details: { name: row.name, hostname: row.hostname, os: row.os, pairing_id: pairing.id },
    })
    return { computer: showComputer(ctx.principal, row), credential, server_url: ctx.engine.origin() }
  })
}

async function findPairing(ctx: Context, secret: string): Promise<PairingRow> {
  if (/^ukp_[0-9A-Za-z]{43}$/.test(secret))
    return (await pairingStore.byToken(ctx.db, hashSecret(secret))) ?? refuse('invalid_credentials', wrong)
  const code = codeOf(secret)
  const candidates = code === null ? [] : await pairingStore.tryCode(ctx.db, halfOf(code))
  const match = candidates.find((row) => isCode(code!, row)) ?? refuse('invalid_credentials', wrong)
  await pairingStore.forgive(ctx.db, match.id)
  return match
}

const wrong = {
  param: 'token',
  message: 'The pairing token or code is wrong. A code expires after 10 minutes or 10 wrong attempts.',
}

/** Refuses if the creator can no longer add computers. */
async function actAsMaker(ctx: Context, pairing: PairingRow): Promise<Context> {
  const acting = await ctx.engine.actAs({
    accountId: pairing.account_id,
    scopes: pairing.scopes ?? allScopes,
    workspaceId: pairing.held_to,
    payingKeyId: pairing.key_id,
    signal: ctx.signal,
  })
  const place = acting && membershipIn(acting.principal, pairing.workspace_id)
  if (!acting || !place) return over()
  checkPlace(place, 'computer:write')
  checkWritable(place)
  return acting
}

const over = (): never =>
  refuse('link_expired', {
    param: 'token',
    message: 'This pairing was redeemed, canceled or has expired. Create a new one.',
  })
