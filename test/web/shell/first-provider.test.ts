/** The provider form of the setup guide keeps its values. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes } from '../../until.ts'
import { startOpenAI } from '../../vendors/openai/openai.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { environment } from '../scene/scene.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()

test(
  'the provider form keeps its values when another provider becomes available and after a failed attempt',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using vendor = await startOpenAI()
    await using server = await testServer({ environment })
    const alice = await server.person('Alice')
    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, alice)
    await page.goto('/app/welcome')
    const provider = page.getByRole('combobox', { name: 'Provider', exact: true })
    const key = page.getByLabel('API key')
    const shown = async (): Promise<(string | null)[]> => [
      await provider.locator('option:checked').textContent(),
      await key.inputValue(),
    ]
    const presets = (await alice.get('/ai-gateway/provider-endpoints/presets?limit=100')).body.data
    for (const { name } of presets.filter((preset: { needs_key: boolean }) => preset.needs_key).slice(0, 3)) {
      await provider.selectOption({ label: name })
      await becomes(async () => (await shown())[0], name)
    }
    await provider.selectOption({ label: 'Custom provider' })
    await page.getByLabel('Base URL').fill(`${vendor.origin}/v1`)
    await key.fill('sk-wrong-0123456789')
    const typed = await shown()
    assert.deepEqual(typed, ['Custom provider', 'sk-wrong-0123456789'])

    const more = { slug: 'more', name: 'More', shape: 'openai-chat', base_url: `${vendor.origin}/v1`, test: false }
    const added = await alice.post('/ai-gateway/provider-endpoints', {
      ...more,
      api_key: vendor.key,
      models: [{ id: 'gpt-4o' }],
    })
    assert.equal(added.status, 201, added.text)
    await page.getByRole('list', { name: 'Available providers' }).getByText('More').waitFor()
    assert.deepEqual(await shown(), typed)

    await page.getByRole('button', { name: 'Connect provider' }).click()
    await page.getByText('didn’t respond').waitFor()
    assert.deepEqual(await shown(), typed)
    await becomes(() => page.getByLabel('Base URL').inputValue(), `${vendor.origin}/v1`)
    await key.fill(vendor.key)
    await page.getByRole('button', { name: 'Connect provider' }).click()
    await page
      .getByText(/responds in \d+ ms/)
      .last()
      .waitFor()
    assert.deepEqual(await shown(), ['Custom provider', ''])
    assert.deepEqual(visitor.wrongs, [])
  },
)
