import type { Context } from '#infra/context.ts'
import { isSigned, newWebhookSecret } from '#core/text/standard-webhooks.ts'
import { hashSecret } from '#authz/api-key.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { admit } from '../runs/admit.ts'
import { checkActive } from '../runs/control.ts'
import { giveWayTo } from '../runs/stop.ts'
import { isToken, newToken } from './token.ts'
import { runStore } from '../runs/run-store.ts'
import { type AutomationRow, automationStore } from '../store.ts'
import type { ChatHandles } from '#modules/chats/service.ts'
import { runEvent, showRun } from '../runs/show-run.ts'
import { shorten } from '#core/text/shorten.ts'
import { storable } from '#core/text/storable.ts'
import { readText } from './body.ts'

const LARGEST = 1 << 20
const SHOWN_CHARACTERS = 200_000

export interface WebhookCall {
  id: Id
  authorization?: string | undefined
  webhook_id?: string | undefined
  webhook_timestamp?: string | undefined
  webhook_signature?: string | undefined
}

/**
 * Fires a webhook automation for a valid token or signature. One `webhook-id` starts one run, however often it's sent.
 */
export async function fire(ctx: Context<ChatHandles>, { id, ...credentials }: WebhookCall) {
  const body = await wholeOf(ctx)
  const row = await automationStore.get(ctx.db, id)
  const webhook = row?.kind === 'webhook' ? row : null
  await checkSender(ctx, id, webhook, credentials, body)
  // Most repeats end here, without a lock.
  const existingRun = credentials.webhook_id && (await runStore.byWebhook(ctx.db, id, credentials.webhook_id))
  if (existingRun) {
    ctx.answer.status = 200
    return showRun(existingRun)
  }
  const { coding = null, mimeType: type = null } = ctx.upload ?? {}
  const text = await readText({ bytes: body, coding, type }, LARGEST)
  const result = await ctx.transaction(async (ctx) => {
    // Locked, so concurrent deliveries start one run.
    const automation = (await automationStore.lock(ctx.db, id)) ?? refuse('not_found', { param: 'id' })
    const before = credentials.webhook_id && (await runStore.byWebhook(ctx.db, id, credentials.webhook_id))
    if (before) return { run: before, isNew: false }
    checkActive(automation)
    const firing = {
      automation,
      trigger: 'webhook' as const,
      at: null,
      webhookId: credentials.webhook_id ?? null,
      payload: shorten(storable(text), SHOWN_CHARACTERS),
      skip: null,
    }
    const { rows, giveWay } = await admit(ctx.db, [firing], ctx.now())
    if (rows[0]!.status === 'queued') {
      await automationStore.update(ctx.db, id, { last_fired_at: ctx.now() })
      await ctx.emit(runEvent(rows[0]!, 'queued', automation))
    }
    giveWayTo(ctx, giveWay)
    return { run: rows[0]!, isNew: true }
  })
  ctx.engine.bus.poke('automations')
  if (!result.isNew) ctx.answer.status = 200
  return showRun(result.run)
}

/** Without credentials, existing and missing webhooks get the same response after the same work. */
async function checkSender(
  ctx: Context,
  id: Id,
  row: AutomationRow | null,
  credentials: Omit<WebhookCall, 'id'>,
  body: Buffer,
): Promise<void> {
  const { secrets } = ctx.engine
  const former = await automationStore.formerSecrets(ctx.db, id, ctx.now())
  const decoy = decoyOf(secrets, id)
  const present = row ?? decoy
  const bearer = /^Bearer +(ukw_[0-9A-Za-z]{43})$/i.exec(credentials.authorization ?? '')?.[1]
  if (bearer !== undefined) {
    const hasToken = isToken(bearer, [present.token_hash!, ...former.map(({ token_hash }) => token_hash)])
    if (hasToken && row !== null) return
    return refuse('invalid_signature', { message: 'The webhook token is wrong.' })
  }
  const { webhook_id, webhook_timestamp, webhook_signature } = credentials
  if (webhook_id === undefined || webhook_timestamp === undefined || webhook_signature === undefined)
    return refuse('invalid_signature', {
      message:
        'Send `Authorization: Bearer ukw_…`, or the Standard Webhooks headers `webhook-id`, `webhook-timestamp` and `webhook-signature`.',
    })
  const signingSecrets = [{ id, sealed_secret: present.sealed_secret! }, ...former].map(({ id, sealed_secret }) =>
    secrets.open(sealed_secret, id),
  )
  const signedMessage = { id: webhook_id, timestamp: webhook_timestamp, signature: webhook_signature, body }
  if (!isSigned(signedMessage, signingSecrets, ctx.now()) || row === null)
    refuse('invalid_signature', {
      message: 'The signature doesn’t match the body and secret, or `webhook-timestamp` is more than 5 minutes off.',
    })
}

function decoyOf(secrets: Context['engine']['secrets'], id: Id): Pick<AutomationRow, 'token_hash' | 'sealed_secret'> {
  return { token_hash: hashSecret(newToken()), sealed_secret: secrets.seal(newWebhookSecret(), id) }
}

async function wholeOf({ upload }: Context): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of upload?.bytes ?? []) {
    size += part.length
    if (size > LARGEST)
      refuse('payload_too_large', {
        message: 'A webhook body can have up to 1 MiB.',
        details: { limit_bytes: LARGEST },
      })
    // The pipeline reuses the buffer.
    parts.push(Uint8Array.from(part))
  }
  return Buffer.concat(parts)
}
