import type { Context } from '#infra/context.ts'
import { networkOf } from '#infra/network.ts'
import { refuse } from '#core/errors.ts'
import { loginStore } from '../store.ts'

/** Failed logins are counted of two: the network a call comes from, and an account by its address. */
export const networkSubject = ({ caller }: Context): string => `ip:${networkOf(caller.ip)}`
export const emailSubject = (email: string): string => `email:${email.toLowerCase()}`

/** Takes a token of each, before the password is looked at, so that many at once are counted too. */
export async function takeLogin(ctx: Context, subjects: readonly string[]): Promise<void> {
  const { logins } = ctx.engine.config.limits
  for (const subject of subjects) await take(ctx, subject, logins, 'failed sign-ins')
}

/** A login that succeeded was none of those that are counted. */
export async function refundLogin(ctx: Context, subjects: readonly string[]): Promise<void> {
  if (ctx.engine.config.limits.logins === 0) return
  for (const subject of subjects) await loginStore.refund(ctx.db, subject)
}

/** Sign-ups have a bucket of their own, which one that succeeds does not fill again: each draws an account, and credits. */
export const takeSignUp = (ctx: Context): Promise<void> =>
  take(ctx, `sign-up:${networkOf(ctx.caller.ip)}`, ctx.engine.config.limits.sign_ups, 'sign-ups')

/** Challenges are made for anybody who opens the page to sign in: more of them than of wrong passwords. */
export const takeChallengeOf = (ctx: Context): Promise<void> =>
  take(ctx, `challenge:${networkOf(ctx.caller.ip)}`, ctx.engine.config.limits.logins * 6, 'sign-in attempts')

/** Mails to who has forgotten: asking for one is counted by network, whether there is such an account or not. */
export const takeRecovery = (ctx: Context): Promise<void> =>
  take(ctx, `recovery:${networkOf(ctx.caller.ip)}`, ctx.engine.config.limits.logins, 'email requests')

async function take(ctx: Context, subject: string, perMinute: number, what: string): Promise<void> {
  if (perMinute === 0 || (await loginStore.take(ctx.db, subject, perMinute))) return
  refuse('rate_limited', {
    message: `You reached the limit of ${perMinute} ${what} per minute. Wait a moment and try again.`,
    headers: { 'retry-after': String(Math.ceil(60 / perMinute)) },
  })
}
