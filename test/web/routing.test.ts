// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../needs.ts'
import { testServer } from '../server.ts'
import { becomes } from '../until.ts'
import { startOpenAI } from '../vendors/openai/openai.ts'
import { breaches } from './axe.ts'
import { hasChromium, sharedBrowser, visit } from './browser.ts'
import { environment } from './scene/scene.ts'
import { signIn } from './steps.ts'

const browser = sharedBrowser()

test('provider errors are shown, and calls follow the provider order', needs(hasChromium, 'Chromium'), async () => {
  await using server = await testServer({ environment })
  await using vendor = await startOpenAI()
  const aki = await server.person('Aki')
  const program = await aki.key({ scopes: ['gateway:run'] })
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await signIn(page, aki)
  await page.getByRole('link', { name: 'AI routing' }).click()
  await page.getByText('No providers yet').waitFor()

  const dialog = page.getByRole('dialog')
  const add = async (preset: string, fields: Record<string, string>) => {
    await page.getByRole('button', { name: 'Add provider' }).click()
    await dialog.getByLabel('Provider').selectOption(preset)
    for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value)
    await dialog.getByRole('button', { name: 'Add provider' }).click()
  }
  const row = (name: string) => page.getByRole('group', { name, exact: true })
  await add('OpenAI', { 'Base URL': `${vendor.origin}/v1`, 'API key': 'not-the-key' })
  await row('OpenAI')
    .getByText(/The provider returned status 401/)
    .waitFor()
  const act = async (name: string, words: string) => {
    await page.getByRole('button', { name: `More actions for ${name}` }).click()
    await page.getByRole('menuitem', { name: words }).click()
  }
  await act('OpenAI', 'Edit')
  await dialog.getByLabel('API key').fill(vendor.key)
  await dialog.getByRole('button', { name: 'Save provider' }).click()
  await row('OpenAI')
    .getByText(/^Last response .* in \d+ ms$/)
    .waitFor()
  await row('OpenAI').getByText('working', { exact: true }).waitFor()

  // A taken slug shows an error at the field; typed text is kept.
  await add('Custom provider', {
    'Base URL': `${vendor.origin}/v1`,
    'API key': vendor.key,
    Name: 'Second',
    Slug: 'openai',
  })
  await dialog.getByText('A provider endpoint with the slug openai already exists.').waitFor()
  await becomes(() => dialog.getByLabel('Base URL').inputValue(), `${vendor.origin}/v1`)
  await dialog.getByLabel('Slug').fill('second')
  await dialog.getByRole('button', { name: 'Add provider' }).click()
  await row('Second').getByText('working', { exact: true }).waitFor()

  const providerOf = async () => {
    const answer = await program.post('/compat-a/v1/chat/completions', {
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'Hello' }],
    })
    assert.equal(answer.status, 200, answer.text)
    return /provider=([^;]+)/.exec(answer.headers.get('x-uk-route') ?? '')![1]
  }
  // Both share a place; moving Second up gives it its own place first.
  await page.getByRole('button', { name: 'Move Second up' }).click()
  await page.getByText('Moved Second to priority 1 of 2').waitFor()
  assert.deepEqual([await providerOf(), await providerOf(), await providerOf()], ['second', 'second', 'second'])
  await page.getByRole('button', { name: 'Move Second down' }).click()
  await page.getByText('Moved Second to priority 1 of 1').waitFor()
  await page.getByRole('button', { name: 'Move Second down' }).click()
  await page.getByText('Moved Second to priority 2 of 2').waitFor()
  // The same by dragging: to the upper edge of a place.
  const second = page.getByRole('group', { name: 'Second', exact: true })
  await second.getByTitle('Drag to reorder').dragTo(page.getByRole('listitem', { name: 'Priority 1' }), {
    targetPosition: { x: 200, y: 4 },
  })
  const secondAt = (place: string) => page.getByRole('listitem', { name: place }).filter({ has: second })
  await secondAt('Priority 1').waitFor()
  await page.getByRole('button', { name: 'Move Second down' }).click()
  await page.getByText(/sharing traffic/).waitFor()
  await page.getByRole('button', { name: 'Move Second down' }).click()
  await secondAt('Priority 2').waitFor()
  assert.deepEqual([await providerOf(), await providerOf(), await providerOf()], ['openai', 'openai', 'openai'])

  // The preview matches: with its seed, a call takes the same route.
  await page.getByRole('link', { name: 'Preview', exact: true }).click()
  await page.getByRole('combobox', { name: 'Model' }).fill('gpt-4')
  await page.getByRole('option', { name: /^gpt-4o any/ }).click()
  const order = page.getByRole('list', { name: 'Providers in order' }).getByRole('listitem')
  await order.nth(1).waitFor()
  await becomes(
    async () => (await order.allInnerTexts()).map((words) => /openai|second/.exec(words)![0]),
    ['openai', 'second'],
  )
  await page.getByText('Routing options').click()
  await page.getByLabel('Ignored providers').fill('openai')
  await page.getByRole('list', { name: 'Skipped providers' }).getByText('openai').waitFor()
  await page.getByLabel('Max. output tokens').fill('many')
  await page.getByText('Must be a number.').waitFor()
  await becomes(() => page.getByLabel('Max. output tokens').getAttribute('aria-invalid'), 'true')
  await page.getByRole('link', { name: 'Providers', exact: true }).click()

  await page.getByRole('switch', { name: 'Use OpenAI' }).click()
  await row('OpenAI').getByText('turned off').waitFor()
  assert.equal(await providerOf(), 'second')

  await act('Second', 'Delete')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete provider' }).click()
  await row('Second').waitFor({ state: 'detached' })

  // The total: seven calls with her own keys.
  await page.getByRole('link', { name: 'Usage' }).click()
  await page
    .getByRole('table', { name: 'By provider' })
    .getByRole('row', { name: /^second 4/ })
    .waitFor()
  const latest = page.getByRole('list', { name: 'Latest calls' }).getByRole('listitem')
  await latest.nth(6).waitFor()
  await becomes(() => latest.count(), 7)
  assert.deepEqual(visitor.wrongs, [])
})

test(
  'providers are ordered per owner, and people who cannot reorder them see why',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment })
    const aki = await server.person('Aki')
    const endpoint = async (name: string, place: object = {}) => {
      const models = [{ id: 'gpt-4o', pricing: { input: 1, output: 1 } }]
      const given = { preset: 'openai', name, slug: name.toLowerCase(), api_key: 'sk-0123456789', models, ...place }
      assert.equal((await aki.post('/ai-gateway/provider-endpoints', { test: false, ...given })).status, 201)
    }
    await endpoint('House', { instance: true })
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, aki)
    await page.goto('/app/ai-routing')
    const region = (name: string) => page.getByRole('region', { name })
    const [own, instance] = ['Your providers', 'Instance providers'].map(region)
    const row = (name: string) => page.getByRole('group', { name, exact: true })
    await instance!.getByRole('group', { name: 'House' }).waitFor()
    await own!.getByText('No providers yet').waitFor()
    await endpoint('Mine')
    await endpoint('Second house', { instance: true, slug: 'second', priority: 1 })
    const shop = (await aki.post('/workspaces', { name: 'Print shop' })).body.data
    await endpoint('Shop', { workspace_id: shop.id, priority: 0 })
    await endpoint('Back room', { workspace_id: shop.id, slug: 'back', priority: 1 })
    await page.reload()
    await own!.getByRole('group', { name: 'Mine' }).waitFor()
    await becomes(() => own!.getByRole('group', { name: 'House' }).count(), 0)
    // The router follows the order of owners shown.
    const asked = async (caller: Pick<typeof aki, 'post'>) =>
      (await caller.post('/ai-gateway/routing-preview', { model: 'gpt-4o', seed: 1 })).body.data.candidates.map(
        ({ provider }: { provider: string }) => provider,
      )
    assert.deepEqual(await asked(aki), ['mine', 'house', 'second'])
    const till = await aki.key({ scopes: ['gateway:read', 'gateway:run'], workspace_id: shop.id })
    assert.deepEqual(await asked(till), ['shop', 'back', 'house', 'second'])
    // Dragging to another owner's list shows a message; within the list it moves.
    await row('Second house').getByTitle('Drag to reorder').dragTo(row('Mine'))
    await page.getByText('You can reorder providers only within their group').waitFor()
    await page.getByRole('button', { name: 'Move Second house up' }).press('Enter')
    await page.getByText('Moved Second house to priority 1 of 1').waitFor()

    // Members see the order and who can change it.
    const ben = await server.person('Ben')
    const { token } = (await aki.post(`/workspaces/${shop.id}/invitations`, { email: ben.email })).body.data
    await ben.post('/invitations/accept', { token })
    await using his = await visit(browser(), server.origin)
    await signIn(his.page, ben)
    await his.page.goto('/app/ai-routing')
    await his.page.getByText('Only an admin of Print shop can').waitFor()
    await becomes(
      () => his.page.getByRole('button', { name: /^(Move|Test provider|More actions for) (Shop|Back room)/ }).count(),
      0,
    )
    await his.page
      .getByRole('region', { name: 'Instance providers' })
      .getByText('Only the administrator of this instance can reorder these.')
      .waitFor()
    assert.deepEqual(await breaches(his.page), [])
    assert.deepEqual(visitor.wrongs, [])
  },
)

test(
  'calls beyond the spend caps of a gateway key and its workspace are rejected',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment })
    const aki = await server.person('Aki')
    await aki.post('/workspaces', { name: 'Print shop' })
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, aki)
    await page.goto('/app/ai-routing/keys')
    await page.getByLabel('Workspace', { exact: true }).selectOption('Print shop')
    await page.getByRole('button', { name: 'Create gateway key' }).click()
    await page.getByLabel('Name').fill('Shop assistant')
    await page.getByRole('dialog').getByLabel('Spend cap').fill('nothing')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('Must be a number.').waitFor()
    await page.getByRole('dialog').getByLabel('Spend cap').fill('5')
    await page.getByRole('button', { name: 'Create key' }).click()
    const key = await page.getByTestId('key').innerText()
    await page.getByRole('button', { name: 'I’ve stored it' }).click()
    const ask = async () => {
      const answer = await fetch(`${server.origin}/compat-a/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sim/echo', max_tokens: 2_000, messages: [{ role: 'user', content: 'Hello' }] }),
      })
      return [answer.status, ((await answer.json()) as { error?: { code?: string } }).error?.code]
    }
    assert.deepEqual(await ask(), [200, undefined])
    await page.getByLabel('Spend cap in USD').fill('0.001')
    await page.getByRole('button', { name: 'Save spend cap' }).click()
    await page.getByText('Saved the spend cap of Print shop').waitFor()
    assert.deepEqual(await ask(), [402, 'budget_reached'])
    assert.deepEqual(visitor.wrongs, [])
  },
)

test(
  'admins see, cap and revoke all keys of the workspace, and members see only their own',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment: { ...environment, UK_SIGN_UP_CREDITS_USD: '5' } })
    const [aki, ben] = [await server.person('Aki'), await server.person('Ben')]
    const { id } = (await aki.post('/workspaces', { name: 'Print shop' })).body.data
    const { token } = (await aki.post(`/workspaces/${id}/invitations`, { email: ben.email })).body.data
    await ben.post('/invitations/accept', { token })
    const till = await ben.key({ name: 'Till', scopes: ['gateway:run'], workspace_id: id })
    await ben.key({ name: 'Diary' })
    await aki.key({ name: 'Counter', workspace_id: id })
    const ask = async () => {
      const messages = [{ role: 'user', content: 'Hello' }]
      const answer = await till.post('/compat-a/v1/chat/completions', {
        model: 'sim/echo',
        max_tokens: 2_000,
        messages,
      })
      return [answer.status, answer.body.error?.code]
    }
    assert.deepEqual(await ask(), [200, undefined])
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    const open = async (person: typeof aki) => {
      await signIn(page, person)
      await page.goto('/app/ai-routing/keys')
      await page.getByLabel('Workspace', { exact: true }).selectOption('Print shop')
      return page.getByRole('list', { name: 'Keys of Print shop' }).getByRole('listitem')
    }
    const names = async (rows: Awaited<ReturnType<typeof open>>) => {
      await rows.first().waitFor()
      return (await rows.allInnerTexts()).map((words) => words.split('\n')[0]).toSorted()
    }
    assert.deepEqual(await names(await open(ben)), ['Till'])
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    const rows = await open(aki)
    assert.deepEqual(await names(rows), ['Counter', 'Till'])
    const row = rows.filter({ hasText: 'Till' })
    await row.getByText('owner: Ben').waitFor()
    // The key was used; the server reports the time with a delay.
    await row.getByText('Never used').waitFor({ state: 'detached' })

    const act = async (words: string) => {
      await page.getByRole('button', { name: 'More actions for Till' }).click()
      await page.getByRole('menuitem', { name: words }).waitFor()
      await becomes(() => page.getByRole('menuitem').allInnerTexts(), ['Edit spend cap …', 'Revoke …'])
      await page.getByRole('menuitem', { name: words }).click()
    }
    await act('Edit spend cap')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Spend cap in USD').fill('0.0001')
    await dialog.getByRole('button', { name: 'Save spend cap' }).click()
    await page.getByText('Saved the spend cap of Till').waitFor()
    assert.deepEqual(await ask(), [402, 'spend_cap_reached'])

    await act('Revoke')
    await page.getByText('This key belongs to another member').waitFor()
    assert.deepEqual(await breaches(page), [])
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('Revoked Till').waitFor()
    assert.equal((await ask())[0], 401)
    assert.deepEqual(visitor.wrongs, [])
  },
)
