// Thorough: run by the merge check, or by name.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes } from '../../until.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { signIn } from '../steps.ts'

const browser = sharedBrowser()

test(
  'workspaces can be created, managed, transferred, left, renamed and deleted',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer()
    const [aki, ben] = [await server.person('Aki'), await server.person('Ben')]
    await using hers = await visit(browser(), server.origin)
    const { page } = hers
    await signIn(page, aki)
    await page.goto('/app/workspaces')
    await page.getByRole('button', { name: 'Create workspace' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Print shop')
    await page.getByRole('dialog').getByRole('button', { name: 'Create workspace' }).click()
    await page.getByRole('heading', { level: 1, name: 'Print shop' }).waitFor()
    const id = page.url().split('/').at(-1)!
    const { token } = (await aki.post(`/workspaces/${id}/invitations`, { email: ben.email })).body.data
    await aki.post(`/workspaces/${id}/invitations`, { email: 'carol@example.com' })
    await page.reload()
    const invited = page.getByRole('list', { name: 'Pending invitations to Print shop' }).getByRole('listitem')
    await invited.nth(1).waitFor()
    await page.getByRole('button', { name: 'Revoke invitation of carol@example.com' }).click()
    await invited.nth(1).waitFor({ state: 'detached' })
    assert.equal((await ben.post('/invitations/accept', { token })).status, 200)
    await page.reload()
    await page.getByText('You’re the only owner').waitFor()
    await becomes(() => page.getByRole('button', { name: 'Leave workspace' }).count(), 0)

    const members = page.getByRole('list', { name: 'Members of Print shop' })
    await page.getByRole('button', { name: 'Edit member Ben' }).click()
    await page.getByRole('dialog').getByLabel('Role').selectOption('viewer')
    await page.getByRole('dialog').getByRole('button', { name: 'Save member' }).click()
    await members.getByText('viewer', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Transfer ownership' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Transfer ownership' }).click()
    await page.getByText('You’re an admin of this workspace.').waitFor()
    await page.getByRole('button', { name: 'Leave workspace' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Leave workspace' }).click()
    await page.getByRole('heading', { level: 1, name: 'Personal' }).waitFor()
    assert.equal((await aki.get(`/workspaces/${id}`)).status, 404)

    await using his = await visit(browser(), server.origin)
    await signIn(his.page, ben)
    await his.page.goto(`/app/workspaces/${id}`)
    await his.page.getByRole('button', { name: 'Rename workspace' }).click()
    await his.page.getByRole('dialog').getByLabel('Name').fill('Ben’s press')
    await his.page.getByRole('dialog').getByRole('button', { name: 'Rename workspace' }).click()
    await his.page.getByRole('heading', { level: 1, name: 'Ben’s press' }).waitFor()
    await his.page.getByRole('button', { name: 'Delete workspace' }).click()
    await his.page.getByLabel('Workspace name').fill('Print shop')
    await his.page.getByRole('dialog').getByRole('button', { name: 'Delete workspace' }).click()
    await his.page.getByRole('dialog').getByText(/name/).first().waitFor()
    assert.equal((await ben.get(`/workspaces/${id}`)).status, 200)
    await his.page.getByLabel('Workspace name').fill('Ben’s press')
    await his.page.getByRole('dialog').getByRole('button', { name: 'Delete workspace' }).click()
    await his.page.getByRole('heading', { level: 1, name: 'Personal' }).waitFor()
    assert.equal((await ben.get(`/workspaces/${id}`)).status, 404)
    assert.deepEqual([...hers.wrongs, ...his.wrongs], [])
  },
)
