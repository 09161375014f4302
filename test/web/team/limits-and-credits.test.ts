// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { until } from '../../until.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()

test(
  'member limits apply in the preview, and credits can be requested and granted',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer()
    const [aki, ben] = [await server.person('Aki'), await server.person('Ben')]
    const shop = (await aki.post('/workspaces', { name: 'Print shop' })).body.data
    const { token } = (await aki.post(`/workspaces/${shop.id}/invitations`, { email: ben.email })).body.data
    await ben.post('/invitations/accept', { token })

    await using hers = await visit(browser(), server.origin)
    await signIn(hers.page, aki)
    await hers.page.goto(`/app/workspaces/${shop.id}`)
    await hers.page.getByRole('button', { name: 'Edit member Ben' }).click()
    await hers.page.getByRole('dialog').getByLabel('Spend cap in USD').fill('20')
    await hers.page.getByRole('dialog').getByLabel('Models').fill('sim/script, openai/*')
    await hers.page.getByRole('button', { name: 'Save member' }).click()
    await hers.page.getByText('Models: sim/script, openai/*').waitFor()
    const [row] = (await aki.get(`/workspaces/${shop.id}/members`)).body.data.filter(
      ({ name }: { name: string }) => name === 'Ben',
    )
    assert.deepEqual([row.spend_cap_usd, row.allowed_models], [20, ['sim/script', 'openai/*']])

    // The rules for all members.
    await hers.page.getByRole('textbox', { name: 'Allowed models' }).fill('sim/*, openai/*')
    await hers.page.getByLabel('Require a key of this workspace').check()
    await hers.page.getByRole('button', { name: 'Save allowed models' }).click()
    await until(
      async () => (await aki.get(`/workspaces/${shop.id}`)).body.data,
      ({ keys, allowed_models }) => keys === 'workspace' && allowed_models?.join() === 'sim/*,openai/*',
    )
    await hers.page.getByLabel('Require a key of this workspace').uncheck()
    await hers.page.getByRole('button', { name: 'Save allowed models' }).click()
    await until(
      async () => (await aki.get(`/workspaces/${shop.id}`)).body.data.keys,
      (keys) => keys === 'any',
    )

    await using his = await visit(browser(), server.origin)
    const { page } = his
    await signIn(page, ben)
    await page.goto('/app/ai-routing/preview')
    await page.getByLabel('Model', { exact: true }).fill('sim/echo')
    await page.getByLabel('Workspace', { exact: true }).selectOption({ label: 'Print shop' })
    await page.getByText('of the member doesn’t include').waitFor()

    await page.goto('/app/ai-routing/usage')
    await page.getByRole('button', { name: 'Request credits' }).click()
    await page.getByLabel('Amount in USD').fill('5')
    await page.getByLabel('Reason').fill('the report')
    await page.getByRole('dialog').getByRole('button', { name: 'Request credits' }).click()
    await page.getByText('You requested credits').waitFor()

    await hers.page.goto('/app/accounts')
    await hers.page.getByText('Ben asks for $5').waitFor()
    await hers.page.getByRole('button', { name: 'Grant the credits Ben requested' }).click()
    await hers.page.getByRole('dialog').getByRole('button', { name: 'Grant credits' }).click()
    await until(
      async () => (await ben.get('/me/usage')).body.data.balance_usd,
      (balance) => balance === 5,
    )
    await hers.page.getByText(/\$5(\.00)? left/).waitFor()
    assert.deepEqual([...hers.wrongs, ...his.wrongs], [])
  },
)
