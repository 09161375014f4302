import type { Context } from '#infra/context.ts'
import { canMail } from '#infra/mail/mail.ts'
import { rightsChanged } from '#authz/rights.ts'
import { refuse } from '#core/errors.ts'
import { implementWith } from '#core/implement.ts'
import { iso } from '#core/time.ts'
import { waysIn } from './contract-ways.ts'
import type { HasProvider } from './identities/provider.ts'
import type { HasDoors } from './recovery/doors.ts'
import { verifyAuthentication } from './passkeys/ceremony.ts'
import { recover, requestRecovery } from './recovery/recovery.ts'
import { callersAccount, endSession, verifyEmail } from './service.ts'
import { showAccount } from './show.ts'
import { emailSubject, refundLogin, takeLogin } from './sign-in/attempts.ts'
import { passwordMatches } from './sign-in/password.ts'
import { noteProof, provedUntil, sessionId } from './sign-in/proof.ts'
import { accountStore, sessionStore } from './store.ts'

export const waysInService = implementWith<Context<HasProvider & HasDoors>>()(waysIn, {
  list({ engine }) {
    const { oidc } = engine.config
    return { identity_provider: oidc && { name: oidc.name }, recovery: canMail(engine) }
  },

  async prove(ctx, { password, credential }) {
    const { email, password_hash } = await callersAccount(ctx)
    const subjects = [emailSubject(email)]
    await takeLogin(ctx, subjects)
    if (credential !== undefined) await verifyAuthentication(ctx, 'passkey.prove', credential)
    else if (password === undefined)
      refuse('missing_parameter', { param: 'password', message: 'Send `password`, or a passkey’s `credential`.' })
    else if (!(await passwordMatches(password_hash, password)))
      refuse('invalid_credentials', { param: 'password', message: 'The password is wrong.' })
    await refundLogin(ctx, subjects)
    const provedAt = await noteProof(ctx)
    return { id: sessionId(ctx), created_at: iso(provedAt), until: iso(provedUntil(provedAt)) }
  },

  async end_other_sessions(ctx) {
    const { accountId } = ctx.principal
    await ctx.transaction(async (ctx) => {
      await sessionStore.endOthers(ctx.db, accountId, sessionId(ctx))
      await rightsChanged(ctx.db, [accountId])
    })
    await ctx.engine.rights.refresh()
  },

  request_recovery: (ctx, { email }) => requestRecovery(ctx, email),

  async recover(ctx, { token, new_password }) {
    const account = await recover(ctx, token, new_password)
    // The email reached the address, so it's verified.
    await verifyEmail(ctx, account.id)
    return showAccount((await accountStore.get(ctx.db, account.id)) ?? account)
  },

  async sign_out(ctx) {
    const id = sessionId(ctx)
    const session = await sessionStore.get(ctx.db, ctx.principal.accountId, id)
    const backTo = `${ctx.caller.origin ?? ctx.engine.origin()}/app/sign-in`
    await endSession(ctx, id)
    ctx.answer.session = null
    const { identityProvider } = ctx.engine
    const url = session?.identity_id && identityProvider ? await identityProvider.signOutUrl(backTo) : null
    return { id, created_at: iso(ctx.now()), url }
  },
})
