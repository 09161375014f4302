import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { until } from '../../until.ts'
import { breaches } from '../axe.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()
const chromium = needs(hasChromium, 'Chromium')

test('an invitation link shows its details and leads through sign-up into the workspace', chromium, async () => {
  await using server = await testServer({ environment: { UK_SIGN_UP: 'invite' } })
  const aki = await server.person('Aki')
  const shop = (await aki.post('/workspaces', { name: 'Print shop' })).body.data
  await using hers = await visit(browser(), server.origin)
  await signIn(hers.page, aki)
  await hers.page.getByRole('heading', { level: 1, name: 'Welcome, Aki' }).waitFor()
  // A navigation during the check for new accounts wins.
  const known = Promise.withResolvers<void>()
  await hers.page.route(/\/v1\/chats\?/, (route) => known.promise.then(() => route.continue()))
  const asked = hers.page.waitForRequest(/\/v1\/chats\?/)
  await hers.page.getByRole('link', { name: 'Home' }).click()
  await asked
  const answered = hers.page.waitForResponse(/\/v1\/chats\?/)
  await hers.page.getByRole('link', { name: 'Workspaces' }).click()
  await hers.page.getByRole('heading', { level: 1, name: 'Print shop' }).waitFor()
  known.resolve()
  await answered
  await hers.page.getByRole('heading', { level: 1, name: 'Print shop' }).waitFor()
  await hers.page.getByRole('button', { name: 'Invite member' }).click()
  await hers.page.getByLabel('Email').fill('ben@example.com')
  await hers.page.getByRole('dialog').getByRole('button', { name: 'Invite member' }).click()
  const url = await hers.page.getByText(/\/app\/invitations#token=/).innerText()
  await hers.page.getByRole('button', { name: 'Done' }).click()

  await using his = await visit(browser(), server.origin)
  const { page } = his
  await page.goto(url)
  await page.getByRole('heading', { level: 1, name: 'Print shop' }).waitFor()
  await page.getByText('Aki invited ben@example.com to this workspace as member').waitFor()
  assert.equal(page.url().includes('token'), false, 'the token is out of the address')
  assert.deepEqual(await breaches(page), [])
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByText('to join Print shop').waitFor()
  await until(
    () => page.getByLabel('Email').inputValue(),
    (typed) => typed === 'ben@example.com',
  )
  await page.getByLabel('Name').fill('Ben')
  await page.getByLabel('Password').fill('a sentence that is long')
  await page.getByRole('button', { name: 'Create account' }).click()
  // The invitation is accepted without asking again.
  await page.getByRole('list', { name: 'Members of Print shop' }).getByText('Ben (you)').waitFor()
  assert.equal(new URL(page.url()).pathname, `/app/workspaces/${shop.id}`)
  assert.equal((await aki.get(`/workspaces/${shop.id}`)).body.data.member_count, 2)

  // The same link again, for the same user and for another one.
  await page.goto(url)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('list', { name: 'Members of Print shop' }).waitFor()
  await hers.page.goto(url)
  await hers.page.getByRole('heading', { level: 1, name: 'Invitation already accepted' }).waitFor()
  await hers.page.getByRole('button', { name: 'Continue' }).click()
  await hers.page.getByText('The invitation was already accepted.').waitFor()
  assert.deepEqual([...hers.wrongs, ...his.wrongs], [])
})

test('invalid, expired and foreign invitations are explained, and the account can be switched', chromium, async () => {
  await using server = await testServer()
  const [aki, ben, chie] = [await server.person('Aki'), await server.person('Ben'), await server.person('Chie')]
  const shop = (await aki.post('/workspaces', { name: 'Print shop' })).body.data
  const invite = async (email: string) =>
    (await aki.post(`/workspaces/${shop.id}/invitations`, { email, role: 'viewer' })).body.data
  const first = await invite(ben.email)
  const second = await invite(ben.email)
  const old = await invite('late@example.com')
  await server.app.engine.postgres.pool.query(
    `update invitations set expires_at = now() - interval '1 day' where id = $1`,
    [old.id],
  )
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  const says = async (url: string, title: string) => {
    await page.goto('about:blank')
    await page.goto(url)
    await page.getByRole('heading', { level: 1, name: title }).waitFor()
  }
  await says(first.url, 'This invitation was revoked')
  await says(old.url, 'This invitation has expired')
  await says(`${server.origin}/app/invitations#token=${'x'.repeat(43)}`, 'Invalid invitation link')
  await page.getByRole('button', { name: 'Go to Home' }).click()
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()

  await signIn(page, chie)
  await says(second.url, 'Print shop')
  await page.getByText('you’re signed in as').waitFor()
  await page.getByRole('button', { name: 'Join Print shop as chie@example.com' }).waitFor()
  await page.getByRole('button', { name: 'Switch account' }).click()
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
  await until(
    () => page.getByLabel('Email').inputValue(),
    (typed) => typed === ben.email,
  )
  await page.getByLabel('Password').fill(ben.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('list', { name: 'Members of Print shop' }).getByText('Ben (you)').waitFor()

  const chat = (await aki.post('/chats', { workspace_id: shop.id, title: 'Views' })).body.data
  const shared = (
    await aki.post('/shares', {
      resource_type: 'chat',
      resource_id: chat.id,
      grantee: { email: 'ben@elsewhere.example' },
    })
  ).body.data
  await says(shared.url, 'Views')
  await page.getByText('Aki shared a chat with ben@elsewhere.example').waitFor()
  await page.getByRole('button', { name: 'Accept as ben@example.com' }).click()
  await page.waitForURL(`**/app/chats/${chat.id}`)
  assert.deepEqual(visitor.wrongs, [])
})
