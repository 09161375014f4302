// Thorough: run by the merge check, or by name.
/** Sign-in by passkey and identity provider, and password recovery. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { needs } from '../../needs.ts'
import { mailbox } from '../../outside/mailbox.ts'
import { testServer } from '../../server.ts'
import { becomes } from '../../until.ts'
import { startIssuer } from '../../vendors/oidc/issuer.ts'
import { breaches } from '../axe.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()

/** A device with a sensor (CDP, WebAuthn domain). */
async function sensor(page: Page) {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable', { enableUI: false })
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    finger: (isUserVerified: boolean) => cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
    touches: (enabled: boolean) => cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
    count: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials.length,
  }
}

const signOut = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
}

test(
  'users can sign in with passkeys and an identity provider, and recover their password by email',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using mail = await mailbox()
    await using issuer = await startIssuer()
    await using server = await testServer({
      environment: {
        SMTP_URL: mail.url,
        UK_OIDC_ISSUER: issuer.origin,
        UK_OIDC_CLIENT_ID: issuer.clientId,
        UK_OIDC_CLIENT_SECRET: issuer.clientSecret,
        UK_OIDC_NAME: 'The house',
      },
    })
    const aki = await server.person('Aki')
    // Passkeys need a domain name.
    const origin = `http://uk.localhost:${new URL(server.origin).port}`
    await using visitor = await visit(browser(), origin)
    const { page, wrongs } = visitor
    const device = await sensor(page)
    await signIn(page, aki)
    await page.getByRole('link', { name: 'Security' }).click()
    await page.getByRole('heading', { name: 'No passkeys yet' }).waitFor()
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('The laptop')
    await page.getByRole('dialog').getByRole('button', { name: 'Add passkey' }).click()
    const passkeys = page.getByRole('list', { name: 'Passkeys' }).getByRole('listitem')
    await passkeys.getByText('The laptop').waitFor()
    await becomes(() => device.count(), 1)
    assert.deepEqual(await breaches(page), [])

    // After ten minutes, the identity is confirmed again.
    const { pool } = server.app.engine.postgres
    await pool.query(`update sessions set proved_at = now() - interval '11 minutes'`)
    await page.getByRole('button', { name: 'Link account' }).click()
    const proof = page.getByRole('dialog', { name: 'Confirm your identity' })
    await proof.getByLabel('Your password').fill('wrong')
    await proof.getByRole('button', { name: 'Confirm identity' }).click()
    await proof.getByText('The password is wrong.').waitFor()
    await proof.getByRole('button', { name: 'Cancel' }).click()
    await proof.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Link account' }).click()
    await becomes(() => proof.getByLabel('Your password').inputValue(), '')
    await becomes(() => proof.getByText('The password is wrong.').count(), 0)
    issuer.sits({ sub: 'aki-1', email: 'aki@house.example', email_verified: true })
    await proof.getByRole('button', { name: 'Use a passkey instead' }).click()
    await page.getByRole('list', { name: 'Accounts at The house' }).getByText('aki@house.example').waitFor()
    assert.doesNotMatch(page.url(), /code=/)

    // A rejected suggested passkey shows an error.
    const refused = { code: 'invalid_credentials', message: 'This passkey is not known here.', type: 'authentication' }
    await page.route('**/passkeys/sign-in', (route) => route.fulfill({ status: 401, json: { error: refused } }))
    await signOut(page)
    await page.getByText('This passkey is not known here.').waitFor()
    await page.unroute('**/passkeys/sign-in')
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    await device.touches(false)
    await signOut(page)
    await page.getByRole('button', { name: 'Continue with The house' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    // Sign-out there, and back.
    await signOut(page)

    await page.getByRole('link', { name: 'Forgot your password?' }).click()
    await page.getByLabel('Email').fill(aki.email)
    await page.getByRole('button', { name: 'Send link' }).click()
    await page.getByRole('heading', { name: 'Check your email' }).waitFor()
    assert.deepEqual(await breaches(page), [])
    const link = /\/app\/recovery#token=[\w-]{43}/.exec(await mail.next())![0]
    await page.goto(link)
    await page.getByLabel('New password').fill('a sentence of today')
    assert.doesNotMatch(page.url(), /token/)
    await page.getByRole('button', { name: 'Set password and sign in' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    assert.equal((await aki.get('/me')).body.error.code, 'session_expired')
    await page.goto(link)
    await page.getByLabel('New password').fill('a sentence of tomorrow')
    await page.getByRole('button', { name: 'Set password and sign in' }).click()
    await page.getByText('This link was already used').waitFor()

    await page.goto('/app/settings/security')
    await passkeys.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Remove passkey' }).click()
    await page.getByRole('heading', { name: 'No passkeys yet' }).waitFor()
    assert.deepEqual(
      wrongs.filter((wrong) => !wrong.startsWith(`a request to ${issuer.origin}`)),
      [],
    )
  },
)
