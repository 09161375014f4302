// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { call, say, script } from '../../chats/chats.ts'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes, until } from '../../until.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor()

test(
  'an owner creates, tests, versions and schedules an agent; viewers read it; others get 404',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment: { UK_SIM: 'on' } })
    const [alice, bob, carol] = [
      await server.person('Alice'),
      await server.person('Bob'),
      await server.person('Carol'),
    ] as const
    const shop = (await alice.post('/workspaces', { name: 'Print shop' })).body.data
    const invited = (await alice.post(`/workspaces/${shop.id}/invitations`, { email: bob.email, role: 'viewer' })).body
    await bob.post('/invitations/accept', { token: invited.data.token })

    await using hers = await visit(browser(), server.origin, { width: 1440, height: 900 })
    const { page } = hers
    await signIn(page, alice)
    await page.goto('/app/agents')
    await page.getByRole('button', { name: 'Start with Editor' }).click()
    await page.getByRole('dialog').getByLabel('Workspace').selectOption({ label: 'Print shop' })
    await page.getByRole('dialog').getByRole('button', { name: 'Create agent' }).click()
    await heading(page, 'Editor')

    // The model and a tool, as version 2.
    await page.getByRole('button', { name: /^Model/ }).click()
    await page.getByLabel('Search models').fill('sim/script')
    await page.getByRole('option', { name: /sim\/script/ }).click()
    await page.getByLabel('All tools in Chats and search').selectOption('ask')
    await page.getByText('Uses the saved version 1').waitFor()
    await page.keyboard.press('Control+s')
    await page.getByText('Saved as version 2').waitFor()

    // The test chat runs next to the setup.
    const tried = page.getByRole('region', { name: 'Test Editor' })
    await tried.getByLabel('Test message').fill(script([say('Cut short, and clear.')]))
    await page.keyboard.press('Enter')
    await tried
      .getByRole('article', { name: /^Editor/ })
      .getByText('Cut short, and clear.')
      .waitFor()

    // Instructions are highlighted; letters typed there trigger no shortcuts, and Tab leaves the field.
    const instructions = page.locator('[data-code]').getByRole('textbox', { name: 'Instructions' })
    await instructions.fill('# Who you are\nYou edit texts.\nAnswer in one line.')
    await instructions.press('Control+End')
    await page.keyboard.type(' g c')
    await page.keyboard.press('Tab')
    await becomes(() => page.evaluate('document.activeElement.textContent.startsWith("Model: ")'), true)
    // Only highlighted text has elements of its own within a line.
    await instructions.locator('span', { hasText: '# Who you are' }).waitFor()
    await page.getByRole('button', { name: 'Save agent' }).click()
    await page.getByText('Saved as version 3').waitFor()
    await page.getByRole('link', { name: 'Versions' }).click()
    const versions = page.getByRole('list', { name: 'Versions' }).getByRole('listitem')
    await versions.first().getByText('Answer in one line. g c').waitFor()
    await versions.first().getByText('Ask if a sentence is ambiguous.').waitFor()
    await page.getByRole('button', { name: 'Restore version 2' }).click()
    await page.getByText('Restored version 2 as version 4').waitFor()
    const agents = (await alice.get(`/agents?workspace_id=${shop.id}`)).body.data
    assert.match(agents[0].system_prompt, /is ambiguous/)

    // Plain English becomes a schedule, and nothing is saved before the form is sent.
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByRole('link', { name: 'Create automation' }).click()
    // The agent left behind it has a name, too.
    const made = page.getByRole('dialog', { name: 'Create automation' })
    await made.getByLabel('Name').fill('Morning edit')
    const words = page.getByRole('combobox', { name: 'Schedule' })
    await words.fill('every full moon at nine')
    await page.getByText('Couldn’t understand “full moon”.').waitFor()
    await words.fill('every weekday at nine')
    await page.getByRole('combobox', { name: 'Time zone' }).fill('Asia/Tokyo')
    await until(
      () => page.getByRole('list', { name: 'Next runs' }).getByRole('listitem').allInnerTexts(),
      (firings) => firings.length === 5 && firings.every((one) => one.endsWith('09:00 in Asia/Tokyo')),
    )
    const plan = script([say('First line. '), call('chats_create', { title: 'Asked' })], [say('Last line.')])
    await page.getByLabel('Prompt').fill(plan)
    assert.deepEqual((await alice.get(`/automations?workspace_id=${shop.id}`)).body.data, [])
    await made.getByRole('button', { name: 'Create automation' }).click()
    await heading(page, 'Morning edit')
    const [automation] = (await alice.get(`/automations?workspace_id=${shop.id}`)).body.data
    assert.deepEqual([automation.schedule, automation.time_zone], ['0 9 * * 1-5', 'Asia/Tokyo'])

    // The log so far is shown at once, then live.
    await page.getByRole('button', { name: 'Run now' }).click()
    const log = page.getByRole('log', { name: 'Log' })
    await log.getByText('Waiting for approval').waitFor()
    const address = page.url()
    await page.reload()
    await log.getByText('First line.').waitFor()
    await becomes(() => log.getByText('Last line.').count(), 0)
    const [run] = (await alice.get(`/automations/${automation.id}/runs`)).body.data
    assert.ok(address.endsWith(`/automations/${automation.id}/runs/${run.id}`))
    const at = `/chats/${run.chat_id}/runs/${run.run_id}`
    const { pending_actions } = (await alice.get(at)).body.data
    await alice.post(`${at}/actions`, { actions: [{ id: pending_actions[0].id, decision: 'allow' }] })
    await log.getByText('Last line.').waitFor()
    await page.getByText('succeeded', { exact: true }).waitFor()

    await using his = await visit(browser(), server.origin, { width: 1440, height: 900 })
    await signIn(his.page, bob)
    await his.page.goto(`/app/agents/${agents[0].id}`)
    await his.page.getByText('You’re a viewer of Print shop').waitFor()
    await becomes(() => his.page.getByLabel('Name', { exact: true }).isDisabled(), true)
    await his.page.goto(`/app/automations/${automation.id}`)
    await his.page.getByRole('list', { name: 'Runs' }).getByText('succeeded').waitFor()
    await becomes(() => his.page.getByRole('button', { name: /^(Run now|Edit|More actions for)/ }).count(), 0)
    await his.page.goto(address)
    await his.page.getByRole('log', { name: 'Log' }).getByText('Last line.').waitFor()
    // Changes by another user appear without a reload.
    await alice.patch(`/automations/${automation.id}`, { name: 'Dawn edit' })
    await heading(his.page, 'Dawn edit')
    assert.equal((await bob.patch(`/agents/${agents[0].id}`, { name: 'Mine' })).status, 403)

    await using theirs = await visit(browser(), server.origin)
    await signIn(theirs.page, carol)
    for (const path of [`/app/agents/${agents[0].id}`, `/app/automations/${automation.id}`, address]) {
      await theirs.page.goto(path)
      await theirs.page.getByText(/doesn’t exist, or you don’t have access to it/).waitFor()
    }

    // Webhook secrets are shown once, with a working example.
    await page.goto(`/app/automations?new=${agents[0].id}&workspace=${shop.id}`)
    await made.getByLabel('Name').fill('On a delivery')
    await page.getByRole('radio', { name: 'Webhook' }).check()
    await page.getByLabel('Prompt').fill(script([say('Unpacked.')]))
    await made.getByRole('button', { name: 'Create automation' }).click()
    const shown = await page.getByRole('dialog').getByText(/^ukw_/).innerText()
    const curl = await page.getByLabel('curl example').innerText()
    assert.ok(curl.includes(`Bearer ${shown}`))
    const fired = await fetch(/https?:\S+/.exec(curl)![0], {
      method: 'POST',
      headers: { authorization: `Bearer ${shown}`, 'content-type': 'application/json' },
      body: '{"crates": 3}',
    })
    assert.equal(fired.status, 202)
    await page.getByRole('button', { name: 'I’ve stored them' }).click()
    await page.getByRole('list', { name: 'Runs' }).getByText('by webhook').waitFor()
    await becomes(() => page.getByText(shown).count(), 0)

    // Trash and undo.
    await page.goto(`/app/agents/${agents[0].id}`)
    await page.getByRole('button', { name: 'More actions for Editor' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByText('Moved Editor to the trash').waitFor()
    assert.equal((await alice.get(`/agents/${agents[0].id}`)).body.data.status, 'trashed')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('Restored Editor').waitFor()
    assert.equal((await alice.get(`/agents/${agents[0].id}`)).body.data.status, 'active')

    // Background operations are shown.
    await page.goto('/app/operations')
    await page.getByRole('heading', { name: 'No operations yet' }).waitFor()
    const messages = [{ role: 'user', content: script([say('Done.')]) }]
    await alice.post('/inference/text', { model: 'sim/script', messages, background: true })
    const operations = page.getByRole('list', { name: 'Operations' })
    await operations.getByText('succeeded').waitFor()
    await operations.getByRole('link', { name: 'Model response' }).click()
    await page.getByLabel('Result', { exact: true }).getByText('"Done."').first().waitFor()
    assert.deepEqual([hers.wrongs, his.wrongs, theirs.wrongs], [[], [], []])
  },
)
