import type { Context } from '#infra/context.ts'
import { networkOf } from '#infra/network.ts'
import { refuse } from '#core/errors.ts'
import { loginStore } from '../store.ts'

export const networkSubject = ({ caller }: Context): string => `ip:${networkOf(caller.ip)}`
export const emailSubject = (email: string): string => `email:${email.toLowerCase()}`

/** Takes tokens before checking the password, so concurrent attempts count too. */
export async function takeLogin(ctx: Context, subjects: readonly string[]): Promise<void> {
  const { logins } = ctx.engine.config.limits
  for (const subject of subjects) await take(ctx, subject, logins, 'failed sign-ins')
}

export async function refundLogin(ctx: Context, subjects: readonly string[]): Promise<void> {
  if (ctx.engine.config.limits.logins === 0) return
  for (const subject of subjects) await loginStore.refund(ctx.db, subject)
}

/** A successful sign-up isn't refunded, because each creates an account and credits. */
export const takeSignUp = (ctx: Context): Promise<void> =>
  take(ctx, `sign-up:${networkOf(ctx.caller.ip)}`, ctx.engine.config.limits.sign_ups, 'sign-ups')

/** Challenges are created for every visitor of the sign-in page, so the limit is higher. */
export const takeChallengeOf = (ctx: Context): Promise<void> =>
  take(ctx, `challenge:${networkOf(ctx.caller.ip)}`, ctx.engine.config.limits.logins * 6, 'sign-in attempts')

/** Counted by network, whether or not the account exists. */
export const takeRecovery = (ctx: Context): Promise<void> =>
  take(ctx, `recovery:${networkOf(ctx.caller.ip)}`, ctx.engine.config.limits.logins, 'email requests')

async function take(ctx: Context, subject: string, perMinute: number, what: string): Promise<void> {
  if (perMinute === 0 || (await loginStore.take(ctx.db, subject, perMinute))) return
  refuse('rate_limited', {
    message: `You reached the limit of ${perMinute} ${what} per minute. Wait a moment and try again.`,
    headers: { 'retry-after': String(Math.ceil(60 / perMinute)) },
  })
}
