// Thorough: run by the merge check, or by name.
/** The setup guide, command palette, shortcuts, search, and error pages. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes, until } from '../../until.ts'
import { startOpenAI } from '../../vendors/openai/openai.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()
const chromium = needs(hasChromium, 'Chromium')
const environment = { UK_UPSTREAM_ALLOW: '127.0.0.0/8', UK_SIM: 'off' }

test('the setup guide connects a provider, gets a first response and creates a working API key', chromium, async () => {
  await using server = await testServer({ environment })
  await using openai = await startOpenAI()
  const aki = await server.person('Aki')
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  await signIn(page, aki)
  await page.getByRole('heading', { level: 1, name: 'Welcome, Aki' }).waitFor()
  await page.getByText('Connect a provider to send your first message.').waitFor()
  await page.getByLabel('Provider', { exact: true }).selectOption('openai')
  // The OpenAI preset points to a server on this machine.
  const at = '/ai-gateway/provider-endpoints'
  await page.route(`**/v1${at}`, async (route) => {
    const { preset, api_key, instance } = route.request().postDataJSON() as Record<string, unknown>
    const asked = { preset, api_key, base_url: `${openai.origin}/v1`, instance: instance === true, test: false }
    await route.continue({ postData: JSON.stringify(asked) })
  })
  await page.getByLabel('API key').fill('sk-wrong')
  await page.getByRole('button', { name: 'Connect provider' }).click()
  await page.getByText('Nothing was saved. Try again.').waitFor()
  assert.equal((await aki.get(at)).body.data.length, 0)
  await page.getByLabel('API key').fill(openai.key)
  await page.getByRole('button', { name: 'Connect provider' }).click()
  await page.getByRole('list', { name: 'Available providers' }).getByText('OpenAI').waitFor()

  await page.getByLabel('Model', { exact: true }).fill('gpt-4o')
  await page.getByRole('option', { name: 'openai/gpt-4o GPT-4o', exact: true }).click()
  openai.script({ reply: 'Hello, **Aki**.' })
  await page.getByRole('button', { name: 'Send message', exact: true }).click()
  const answer = page.getByRole('group', { name: 'Response' })
  await answer.locator('strong', { hasText: 'Aki' }).waitFor()
  await page.getByRole('link', { name: 'Continue in this chat' }).waitFor()

  await page.getByRole('button', { name: 'Create key' }).click()
  const key = (await page.getByTestId('key').textContent())!.trim()
  const listed = await fetch(`${server.origin}/compat-a/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(listed.status, 200)
  const shown = page.getByRole('tabpanel', { name: 'Claude Code' })
  await shown.getByText(`ANTHROPIC_BASE_URL=${server.origin}/compat-b`).waitFor()
  await page.getByRole('tab', { name: 'Cursor' }).click()
  await page.getByRole('tabpanel', { name: 'Cursor' }).getByText(`${server.origin}/compat-a/v1`).waitFor()

  // From now on, home links to the setup guide until it is dismissed.
  await page.getByRole('link', { name: 'Home' }).click()
  await page.getByRole('list', { name: 'Recent chats' }).getByRole('link').waitFor()
  // Also after the only chat is archived.
  const [{ id }] = (await aki.get('/chats')).body.data
  await until(
    () => aki.post(`/chats/${id}/archive`),
    ({ status }) => status === 200,
  )
  await page.goto('/app')
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
  await page.getByRole('link', { name: 'Open setup guide' }).click()
  await page.getByRole('button', { name: 'Skip setup' }).click()
  await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
  await becomes(() => page.getByRole('link', { name: 'Open setup guide' }).count(), 0)
  assert.deepEqual(visitor.wrongs, [])
})

test(
  'the palette, shortcuts and search work by keyboard, and single-key shortcuts can be turned off',
  chromium,
  async () => {
    await using server = await testServer({ environment: { UK_SIM: 'on' } })
    const alice = await server.person('Alice')
    const shop = (await alice.post('/workspaces', { name: 'Print shop' })).body.data
    const chat = await alice.post('/chats', { workspace_id: shop.id, title: 'Indigo and vermilion', model: 'sim/echo' })
    await alice.post('/agents', { workspace_id: shop.id, name: 'Indigo clerk', model: 'sim/echo' })
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, alice)
    const palette = page.getByRole('combobox', { name: 'Search or run a command' })
    const heading = (name: string) => page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
    const pressAll = async (keys: string): Promise<void> => {
      for (const key of keys.split(' ')) await page.keyboard.press(key)
    }

    await page.keyboard.press('Control+k')
    await palette.fill('indigo')
    await page.getByRole('option', { name: /Indigo and vermilion/ }).waitFor()
    await page.getByRole('option', { name: /Indigo and vermilion/ }).click()
    await page.waitForURL(`**/app/chats/${chat.body.data.id}`)
    await page.getByRole('textbox', { name: 'Message' }).press('Control+k')
    await palette.fill('switch to print')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Workspace: Print shop' }).waitFor()
    // An invalid chat address doesn't break the event stream of the page.
    const here = page.url()
    await page.goto('/app/chats/nowhere,else')
    await page.getByRole('button', { name: 'Workspace: Print shop' }).waitFor()
    await alice.patch(`/workspaces/${shop.id}`, { name: 'Print house' })
    await page.getByRole('button', { name: 'Workspace: Print house' }).waitFor()
    await page.goto(here)
    await page.getByRole('button', { name: 'Workspace: Print house' }).waitFor()
    await page.keyboard.press('Control+k')
    await palette.fill('api key')
    await page.getByRole('option', { name: /^Create API key/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Create API key' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog', { name: 'Create API key' }).waitFor({ state: 'detached' })

    await page.getByRole('textbox', { name: 'Message' }).fill('g i')
    assert.match(page.url(), /\/chats\//)
    await page.getByRole('textbox', { name: 'Message' }).blur()
    await pressAll('g i')
    await heading('Inbox')
    await pressAll('c')
    await heading('Chats')
    await page.locator('body').press('Escape')
    await page.evaluate('document.activeElement?.blur()')
    await page.keyboard.press('?')
    await page.getByRole('checkbox', { name: 'Single-key shortcuts' }).uncheck()
    await page.keyboard.press('Escape')
    await page.reload()
    await heading('Chats')
    await page.evaluate('document.activeElement?.blur()')
    await pressAll('g i')
    await page.keyboard.press('Control+k')
    await palette.fill('keyboard')
    await page.keyboard.press('Enter')
    await page.getByRole('checkbox', { name: 'Single-key shortcuts' }).check()
    await page.keyboard.press('Escape')
    await heading('Chats')

    await page.keyboard.press('Control+k')
    await palette.fill('indigo')
    await page.getByRole('option', { name: 'Search everywhere for “indigo”' }).click()
    const results = page.getByRole('list', { name: 'Results' })
    await results.getByRole('link', { name: 'Indigo clerk' }).waitFor()
    await page.getByRole('button', { name: 'Chats', exact: true }).click()
    await results.getByRole('link', { name: 'Indigo clerk' }).waitFor({ state: 'detached' })
    await results.getByRole('link', { name: 'Indigo and vermilion' }).waitFor()
    const filtered = page.url()
    assert.match(filtered, /types=/)
    await page.goto('/app/inbox')
    await page.goto(filtered)
    await results.getByRole('link', { name: 'Indigo and vermilion' }).waitFor()
    await becomes(() => page.getByRole('button', { name: 'Chats', exact: true }).getAttribute('aria-pressed'), 'true')
    await page.evaluate('document.activeElement?.blur()')
    await page.keyboard.press('/')
    await becomes(
      () => page.getByRole('searchbox', { name: 'Search' }).evaluate((it) => it === it.ownerDocument.activeElement),
      true,
    )
    assert.deepEqual(visitor.wrongs, [])
  },
)

test('missing pages, permissions, connections and credits, and app updates, show a way forward', chromium, async () => {
  await using server = await testServer({ environment })
  await using openai = await startOpenAI()
  const root = await server.person('Root')
  const endpoint = await root.post('/ai-gateway/provider-endpoints', {
    preset: 'openai',
    base_url: `${openai.origin}/v1`,
    api_key: openai.key,
    models: [{ id: 'gpt-4o', pricing: { input: 2.5, output: 10 }, context_length: 128_000 }],
    instance: true,
  })
  assert.equal(endpoint.status, 201, endpoint.text)
  const ben = await server.person('Ben')
  await using visitor = await visit(browser(), server.origin)
  const { page, context } = visitor
  await signIn(page, ben)

  await page.goto('/app/ai-routing/paper-prices')
  await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor()
  await becomes(() => page.getByRole('heading', { level: 1 }).count(), 1)
  await becomes(() => page.getByRole('searchbox', { name: 'Search' }).inputValue(), 'ai routing paper prices')
  await page.goto('/app/accounts')
  await page.getByText('The administrator of this instance can give you access.').waitFor()

  const chat = (await ben.post('/chats', { title: 'Prices', model: 'openai/gpt-4o' })).body.data
  await page.goto(`/app/chats/${chat.id}`)
  await page.getByRole('textbox', { name: 'Message' }).fill('How much is the paper?')
  await page.keyboard.press('Enter')
  const unpaid = page.getByRole('region', { name: 'Payment required' })
  await unpaid.getByText('You have no credits left for this model.').waitFor()
  await unpaid.getByRole('button', { name: 'Request credits' }).click()
  await unpaid.getByText('You requested credits').waitFor()
  const [asked] = (await root.get('/admin/credit-requests?status=pending')).body.data
  assert.equal(asked.name, 'Ben')

  await page.goto('/app/ai-routing/preview')
  await page.getByRole('heading', { level: 2, name: 'Routing preview' }).waitFor()
  await page.route('**/v1/ai-gateway/routing-preview', (route) => route.abort())
  await page.getByLabel('Model', { exact: true }).fill('openai/gpt-4o')
  await page.getByLabel('Model', { exact: true }).press('Escape')
  await page.getByText('The server can’t be reached.').waitFor()

  // A missing chunk reloads the page once, then shows a message.
  let loads = 0
  page.on('request', (one) => void (one.isNavigationRequest() && one.url().endsWith('/app/accounts') && loads++))
  await page.route('**/app/assets/accounts-*.js', (route) => route.fulfill({ status: 404 }))
  await page.goto('/app/accounts')
  await page.getByText('Part of the app couldn’t be loaded').waitFor()
  assert.equal(loads, 2)
  await page.unroute('**/app/assets/accounts-*.js')
  visitor.wrongs.splice(0)
  await page.getByRole('button', { name: 'Reload page' }).click()
  await page.getByText('The administrator of this instance can give you access.').waitFor()

  // An update: the connection drops, and the server returns with a new app.
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or run a command' }).fill('sign out')
  await page.getByRole('option', { name: /^Sign out/ }).waitFor()
  await context.setOffline(true)
  // If the toast list can't be loaded, messages appear as plain text.
  await page.getByRole('option', { name: /^Sign out/ }).click()
  await page.getByText('You are still signed in. The server can’t be reached.').waitFor()
  await page.getByText('You are offline.').waitFor()
  await page.route('**/app', async (route) => {
    const answer = await route.fetch()
    await route.fulfill({
      response: answer,
      body: (await answer.text()).replace(/index-[\w-]+\.js/, 'index-newer.js'),
    })
  })
  await context.setOffline(false)
  await page.getByText('A new version is available.').waitFor()
  await page.getByText('You are offline.').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Reload page' }).waitFor()
  const ofTheNetwork = /ERR_INTERNET_DISCONNECTED|ERR_FAILED|Failed to load resource/
  assert.deepEqual(
    visitor.wrongs.filter((wrong) => !ofTheNetwork.test(wrong)),
    [],
  )
})
