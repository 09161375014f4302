// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes } from '../../until.ts'
import { breaches } from '../axe.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()

test(
  'agents can be shared with users and with people without an account, and access can be removed',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment: { UK_SIM: 'on' } })
    const [alice, bob] = [await server.person('Alice'), await server.person('Bob')]
    const made = await alice.post('/agents', { workspace_id: alice.workspaceId, name: 'Clerk', model: 'sim/echo' })
    assert.equal(made.status, 201, made.text)
    const { id } = made.body.data
    await using hers = await visit(browser(), server.origin)
    const { page } = hers
    await signIn(page, alice)
    await page.goto(`/app/agents/${id}`)
    await page.getByRole('button', { name: 'Share', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Share Clerk' })
    await dialog.getByText('Not shared outside its workspace yet.').waitFor()
    const share = dialog.getByRole('button', { name: 'Share agent' })
    const whom = dialog.getByLabel('Email')
    // Errors appear at the field, and typed text is kept.
    await whom.fill('nobody')
    await share.press('Enter')
    await dialog.locator('[aria-invalid=true]').waitFor()
    await becomes(() => whom.inputValue(), 'nobody')
    await whom.fill(bob.email)
    await share.press('Enter')
    const shared = dialog.getByRole('list', { name: 'Shared with' })
    const row = (name: string) => shared.getByRole('listitem').filter({ hasText: name })
    await row(bob.email).getByText('can use · pending').waitFor()
    const link = await dialog.getByText(/invitations#token=/).innerText()
    await becomes(() => whom.inputValue(), '')
    assert.deepEqual(await breaches(page), [])

    // The response doesn't reveal whether an address has an account: both get a link.
    await whom.fill('carol@example.com')
    await dialog.getByLabel('Access').selectOption({ label: 'Can edit' })
    await share.press('Enter')
    await dialog.getByText('Invitation link for carol@example.com, shown only once:').waitFor()
    await row('carol@example.com').getByText('can edit · pending').waitFor()

    await using his = await visit(browser(), server.origin)
    await signIn(his.page, bob)
    await his.page.goto(link)
    await his.page.getByText(/Alice shared an agent with/).waitFor()
    await his.page.getByRole('button', { name: 'Accept' }).press('Enter')
    await his.page.getByRole('heading', { level: 1, name: 'Clerk' }).waitFor()
    await his.page.getByText('shared with you').waitFor()
    await becomes(() => his.page.getByRole('button', { name: 'Share', exact: true }).count(), 0)

    await his.page.goto('/app/shared-with-me')
    await his.page.getByRole('link', { name: 'Clerk' }).waitFor()

    // After acceptance, access of both is removed.
    await dialog.getByRole('button', { name: 'Done' }).press('Enter')
    await page.reload()
    await page.getByRole('button', { name: 'Share', exact: true }).click()
    await row('Bob').getByText('can use', { exact: true }).waitFor()
    await row('Bob').getByRole('button').press('Enter')
    await row('Bob').waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Remove access of carol@example.com' }).press('Enter')
    await dialog.getByText('Not shared outside its workspace yet.').waitFor()
    await his.page.goto(`/app/agents/${id}`)
    await his.page.getByText('This agent doesn’t exist, or you don’t have access to it.').waitFor()
    const refusal = /status of 4\d\d/
    assert.deepEqual(
      [...hers.wrongs, ...his.wrongs].filter((wrong) => !refusal.test(wrong)),
      [],
    )
  },
)
