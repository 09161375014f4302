// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../needs.ts'
import { caller, testServer } from '../server.ts'
import { becomes } from '../until.ts'
import { breaches } from './axe.ts'
import { startOpenAI } from '../vendors/openai/openai.ts'
import { hasChromium, sharedBrowser, visit } from './browser.ts'
import { environment } from './scene/scene.ts'
import { signIn } from './steps.ts'

const browser = sharedBrowser()

const chromium = needs(hasChromium, 'Chromium')

test('users can sign up, and create, edit, rotate and revoke API keys', chromium, async () => {
  await using server = await testServer()
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  const me = async (key: string) => (await caller(server.origin, { authorization: `Bearer ${key}` }).get('/me')).status
  const shownKey = async () => {
    const key = await page.getByTestId('key').innerText()
    await page.getByRole('button', { name: 'I’ve stored it' }).click()
    return key
  }

  // Sign-in continues to the requested page.
  await page.goto('/app/ai-routing')
  await page.getByRole('link', { name: 'Create account' }).click()
  await page.getByLabel('Name').fill('Aki')
  await page.getByLabel('Email').fill('no address')
  await page.getByLabel('Password').fill('a sentence that is long')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByText('Must be an email address.').waitFor()
  // Errors appear at the field and focus it; typed text is kept.
  await page.locator('input[type=email]:focus').waitFor()
  await becomes(() => page.getByLabel('Password').inputValue(), 'a sentence that is long')
  await page.getByLabel('Email').fill('aki@example.com')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'AI routing' }).waitFor()

  await page.getByRole('link', { name: 'Developer settings' }).click()
  await page.getByText('No keys yet').waitFor()
  await page.getByRole('button', { name: 'Create key' }).click()
  const dialog = page.getByRole('dialog')
  // The first field has the focus; drafts survive closing the dialog.
  await dialog.locator('input:focus').fill('Lap')
  await page.keyboard.press('Escape')
  await page.locator('button:focus', { hasText: 'Create key' }).click()
  await becomes(() => dialog.getByLabel('Name').inputValue(), 'Lap')
  await dialog.getByLabel('Name').fill(' ')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await dialog.locator('input[aria-invalid=true]').waitFor()
  await dialog.getByText('Must have at least 1 character.').waitFor()
  await dialog.getByLabel('Name').fill('Laptop')
  await dialog.getByLabel('Gateway only').check()
  await dialog.getByLabel('Spend cap').fill('2.5')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  const gatewayKey = await page.getByTestId('key').innerText()
  await page.getByRole('button', { name: 'Copy key' }).click()
  await becomes(() => page.evaluate('navigator.clipboard.readText()'), gatewayKey)
  assert.deepEqual(await breaches(page), [])
  // The example works: its model, key and address.
  const curl = await page.getByLabel('curl example').innerText()
  const said = await fetch(/curl (\S+)/.exec(curl)![1]!, {
    method: 'POST',
    headers: { authorization: /Bearer \w+/.exec(curl)![0], 'content-type': 'application/json' },
    body: /-d '(.*)'/.exec(curl)![1]!,
  })
  assert.equal(said.status, 200, await said.text())
  await page.getByRole('button', { name: 'I’ve stored it' }).click()
  const row = page.getByRole('listitem').filter({ hasText: 'Laptop' })
  await row.getByText('Gateway only').waitFor()
  await becomes(() => row.getByRole('meter').getAttribute('aria-valuetext'), /of \$2\.50 this month/)

  const act = async (name: string) => {
    await page.getByRole('button', { name: 'More actions for Laptop' }).click()
    await page.getByRole('menuitem', { name }).click()
  }
  const chats = () => caller(server.origin, { authorization: `Bearer ${gatewayKey}` }).get('/chats')
  assert.equal((await chats()).body.error.code, 'missing_scope')
  await act('Edit')
  await dialog.getByLabel('Read only').check()
  await dialog.getByRole('button', { name: 'Save key' }).click()
  await row.getByText('Read only').waitFor()
  assert.equal((await chats()).status, 200)

  await act('Rotate')
  await dialog.getByLabel('The old secret stops working').selectOption('Immediately')
  await dialog.getByRole('button', { name: 'Rotate key' }).click()
  const rotated = await shownKey()
  assert.notEqual(rotated, gatewayKey)
  assert.deepEqual([await me(rotated), await me(gatewayKey)], [200, 401])

  await act('Revoke')
  // Destructive confirmations focus the cancel button.
  await page.locator('button:focus', { hasText: 'Cancel' }).waitFor()
  assert.deepEqual(await breaches(page), [])
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke key' }).click()
  await page.getByText('No active keys.').waitFor()
  assert.equal(await me(rotated), 401)
  await page.getByRole('button', { name: 'Show 1 inactive key' }).click()
  await row.getByText('revoked', { exact: true }).waitFor()

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.goto('/app/settings/developer')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('next'), '/settings/developer')
  assert.deepEqual(visitor.wrongs, [])
})

test('the first account on a public instance needs the setup token', chromium, async () => {
  await using server = await testServer({ environment: { UK_HOST: '0.0.0.0' } })
  const { port } = new URL(server.origin)
  await using visitor = await visit(browser(), `http://127.0.0.1:${port}`)
  const { page } = visitor
  await page.goto('/app/sign-up')
  await page.getByLabel('Name').fill('Aki')
  await page.getByLabel('Email').fill('aki@example.com')
  await page.getByLabel('Password').fill('a sentence that is long')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByLabel('Setup token').fill('not the one')
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('alert').filter({ hasText: /token/ }).waitFor()
  await becomes(() => page.getByLabel('Password').inputValue(), 'a sentence that is long')
})

test('a revoked session leads to sign-in, and changing the password ends other sessions', chromium, async () => {
  await using server = await testServer()
  const aki = await server.person('Aki')
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await page.goto('/app/settings/security')
  await page.getByLabel('Email').fill(aki.email)
  await page.getByLabel('Password').fill(aki.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  const sessions = page.getByRole('list', { name: 'Sessions' }).getByRole('listitem')
  await sessions.nth(1).waitFor()
  await page.getByLabel('Current password').fill('wrong')
  await page.getByLabel('New password').fill('another sentence')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('Your current password is wrong.').waitFor()
  await page.getByLabel('Current password').fill(aki.password)
  await page.getByRole('button', { name: 'Change password' }).click()
  await sessions.nth(1).waitFor({ state: 'detached' })
  assert.equal((await aki.get('/auth/session')).status, 401)

  const elsewhere = caller(server.origin, { 'x-uk-csrf': '1' })
  const cookie = (
    await elsewhere.post('/auth/sign-in', { email: aki.email, password: 'another sentence' })
  ).headers.get('set-cookie')!
  const other = caller(server.origin, { cookie: cookie.split(';')[0]!, 'x-uk-csrf': '1' })
  const mine = (await other.get('/auth/sessions')).body.data.find(({ user_agent }: { user_agent: string }) =>
    /Chrome/.test(user_agent),
  )
  assert.equal((await other.delete(`/auth/sessions/${mine.id}`)).status, 200)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
})

test('an invitation link leads through sign-up into the workspace', chromium, async () => {
  await using server = await testServer({ environment: { UK_SIGN_UP: 'invite' } })
  const aki = await server.person('Aki')
  const { id } = (await aki.post('/workspaces', { name: 'Print shop' })).body.data
  const invited = await aki.post(`/workspaces/${id}/invitations`, { email: 'ben@example.com' })
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await page.goto(`/app/invitations#token=${invited.body.data.token}`)
  await page.getByRole('button', { name: 'Create account' }).click()
  assert.doesNotMatch(page.url(), /token/)
  await page.getByLabel('Name').fill('Ben')
  await page.getByLabel('Email').fill('ben@example.com')
  await page.getByLabel('Password').fill('a sentence that is long')
  await page.getByRole('button', { name: 'Create account' }).click()
  // The invitation is accepted without asking again.
  await page.getByRole('heading', { level: 1, name: 'Print shop' }).waitFor()
  assert.deepEqual(await breaches(page), [])
  const members = (await aki.get(`/workspaces/${id}/members`)).body.data.map(({ name }: { name: string }) => name)
  assert.deepEqual(members.toSorted(), ['Aki', 'Ben'])
  assert.deepEqual(visitor.wrongs, [])
})

test('the example for a new key uses a language model available to that key', chromium, async () => {
  await using server = await testServer({ environment })
  await using vendor = await startOpenAI()
  const aki = await server.person('Aki')
  const endpoint = (slug: string, models: object[]) =>
    aki.post('/ai-gateway/provider-endpoints', {
      slug,
      name: slug,
      shape: 'openai-chat',
      base_url: `${vendor.origin}/v1`,
      api_key: vendor.key,
      models,
    })
  const { data: shop } = (await aki.post('/workspaces', { name: 'Print shop', spend_cap_usd: 2 })).body
  await endpoint('acme', [{ id: 'gpt-4o-mini' }])
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await signIn(page, aki)
  const exampleOf = async (given: { cap?: string; reaches?: string }) => {
    await page.goto('/app/settings/developer')
    await page.getByRole('button', { name: 'Create key' }).first().click()
    await page.getByLabel('Name').fill('Laptop')
    if (given.cap) await page.getByLabel('Spend cap').fill(given.cap)
    if (given.reaches) await page.getByLabel('Access to', { exact: true }).selectOption(given.reaches)
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    const curl = await page.getByLabel('curl example').innerText()
    const body = /-d '(.*)'/.exec(curl)![1]!
    const said = await fetch(/curl (\S+)/.exec(curl)![1]!, {
      method: 'POST',
      headers: { authorization: /Bearer \w+/.exec(curl)![0], 'content-type': 'application/json' },
      body,
    })
    assert.equal(said.status, 200, await said.text())
    return (JSON.parse(body) as { model: string }).model
  }
  // Without caps, models without a price can be called; a cap excludes them.
  assert.equal(await exampleOf({}), 'acme/gpt-4o-mini')
  assert.equal(await exampleOf({ cap: '5' }), 'sim/echo')
  assert.equal(await exampleOf({ reaches: shop.id }), 'sim/echo')

  await endpoint('bureau', [
    { id: 'text-embedding-3-small', pricing: { input: 0.02, output: 0 } },
    { id: 'gpt-4o', pricing: { input: 2.5, output: 10 } },
  ])
  assert.equal(await exampleOf({ cap: '5' }), 'bureau/gpt-4o')
  assert.equal(await exampleOf({}), 'bureau/gpt-4o')
  assert.deepEqual(visitor.wrongs, [])
})
