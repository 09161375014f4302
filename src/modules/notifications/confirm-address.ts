import { sql } from 'kysely'
import { callersAccount, verifyEmail } from '#modules/accounts/service.ts'
import type { Context } from '#infra/context.ts'
import { canMail, sendMail } from '#infra/mail/mail.ts'
import { tokenMail } from '#infra/mail/token-mail.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { isSameText } from '#core/text/same-text.ts'

const GOOD_SECONDS = 86_400
/** The minimum time between two emails, so a stranger's mailbox can't be flooded. */
const PAUSE_SECONDS = 300

/** Emails a token to the account's address. Returning it verifies the address. */
export async function sendConfirmation(ctx: Context): Promise<{ id: Id; email: string; verified: boolean }> {
  const { id, email, email_verified_at } = await callersAccount(ctx)
  if (email_verified_at !== null) return { id, email, verified: true }
  if (!canMail(ctx.engine))
    refuse('not_ready', { message: 'This server can’t send email. Its administrator can set SMTP_URL.' })
  await ctx.transaction(async (ctx) => {
    const { rows } =
      await sql`insert into notification_configs as c (account_id, confirmation_sent_at) values (${id}, now())
      on conflict (account_id) do update set confirmation_sent_at = now()
      where c.confirmation_sent_at is null or c.confirmation_sent_at < now() - make_interval(secs => ${PAUSE_SECONDS})
      returning 1`.execute(ctx.db)
    if (rows.length === 0)
      refuse('rate_limited', {
        message: `A confirmation email was sent less than ${PAUSE_SECONDS / 60} minutes ago. Wait before you request another one.`,
        headers: { 'retry-after': String(PAUSE_SECONDS) },
      })
    const until = Math.floor(ctx.now().getTime() / 1000) + GOOD_SECONDS
    const token = tokenOf(ctx, id, email, until)
    await sendMail(
      ctx,
      tokenMail({
        to: email,
        subject: 'Confirm your email address',
        intro: 'Confirm that you want to receive email notifications at this address.',
        open: null,
        command: 'uk notifications confirm-email',
        token,
        further: ['The token expires in 24 hours. If you don’t know what this is about, you can ignore this email.'],
      }),
    )
  })
  return { id, email, verified: false }
}

export async function confirm(ctx: Context, token: string): Promise<{ id: Id; email: string; verified: boolean }> {
  const { id, email } = await callersAccount(ctx)
  const until = Number(/^(\d{10})-/.exec(token)?.[1] ?? 0)
  if (!isSameText(token, tokenOf(ctx, id, email, until)))
    refuse('invalid_parameter', { param: 'token', message: 'The token doesn’t belong to your email address.' })
  if (until * 1000 < ctx.now().getTime())
    refuse('link_expired', { message: 'The token has expired after 24 hours. Request a new one.' })
  await verifyEmail(ctx, id)
  return { id, email, verified: true }
}

/** Signed for one account, its current address and one day, so nothing needs to be stored. */
const tokenOf = ({ engine: { secrets } }: Context, id: Id, email: string, until: number): string =>
  `${until}-${secrets.sign('email confirmation', `${id} ${email.toLowerCase()} ${until}`).toString('base64url')}`
