// Thorough: run by the merge check, or by name.
/** New chats: files dropped early, and the default model. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { needs } from '../../needs.ts'
import { testServer } from '../../server.ts'
import { becomes, until } from '../../until.ts'
import { hasChromium, sharedBrowser, visit } from '../browser.ts'
import { dropOn, signIn } from '../steps.ts'

const browser = sharedBrowser()

test(
  'a file dropped while workspaces load is sent with the first message, and a guest sees the default model',
  needs(hasChromium, 'Chromium'),
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dropped-'))
    try {
      const path = join(folder, 'early.csv')
      writeFileSync(path, 'a,b\n')
      await using server = await testServer({ environment: { UK_SIM: 'on' } })
      const alice = await server.person('Alice')
      const ben = await server.person('Ben')
      await using visitor = await visit(browser(), server.origin)
      const { page } = visitor
      await signIn(page, alice)
      const known = Promise.withResolvers<void>()
      await page.route(/\/v1\/workspaces(\?|$)/, (route) => known.promise.then(() => route.continue()))
      await page.goto('/app/chats')
      await page.getByRole('textbox', { name: 'Message' }).waitFor()
      await dropOn(visitor, [path])
      const attached = page.getByRole('list', { name: 'Attached files' })
      await attached.getByText('early.csv').waitFor()
      await page.getByText('uploading …').waitFor()
      await page.getByRole('textbox', { name: 'Message' }).fill('What is in it?')
      await becomes(() => page.getByRole('button', { name: 'Send (Enter)' }).isDisabled(), true)
      known.resolve()
      await page.getByText('uploading …').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Send (Enter)' }).press('Enter')
      await page.waitForURL(/chats\/\w{26}$/)
      const [chat] = (await alice.get('/chats')).body.data
      const [first] = await until(
        async () => (await alice.get(`/chats/${chat.id}/messages`)).body.data,
        ([message]) => message !== undefined,
      )
      assert.deepEqual(
        first.content.map(({ type, name }: { type: string; name?: string }) => [type, name]),
        [
          ['text', undefined],
          ['file', 'early.csv'],
        ],
      )
      assert.deepEqual(visitor.wrongs, [])

      const share = { resource_type: 'chat', resource_id: chat.id, grantee: { email: ben.email }, access: 'edit' }
      await ben.post('/invitations/accept', { token: (await alice.post('/shares', share)).body.data.token })
      await using phone = await visit(browser(), server.origin, { width: 390 })
      await signIn(phone.page, ben)
      await phone.page.goto(`/app/chats/${chat.id}`)
      const model = phone.page.getByRole('button', { name: 'Model: sim/echo · server default' })
      const shown = await model.getByText('server default').boundingBox()
      assert.ok(shown && shown.width > 50 && shown.x >= 0 && shown.x + shown.width <= 390, JSON.stringify(shown))
      // There is no drive for his files.
      await dropOn(phone, [path])
      await phone.page.getByText('You can’t attach files here').waitFor()

      // Viewers see no editing actions, and why.
      const carol = await server.person('Carol')
      const read = { ...share, grantee: { email: carol.email }, access: 'view' }
      await carol.post('/invitations/accept', { token: (await alice.post('/shares', read)).body.data.token })
      await using reader = await visit(browser(), server.origin)
      await signIn(reader.page, carol)
      await reader.page.goto(`/app/chats/${chat.id}`)
      await reader.page.getByText('You can view this shared chat.').waitFor()
      await becomes(() => reader.page.getByRole('textbox', { name: 'Message' }).count(), 0)
      await reader.page.getByRole('button', { name: 'More actions for this message by sim/echo' }).press('Enter')
      await reader.page.getByRole('menuitem', { name: 'Fork from here' }).waitFor()
      await becomes(() => reader.page.getByRole('menuitem', { name: 'Retry' }).count(), 0)
      await reader.page.keyboard.press('Escape')
      await reader.page.getByRole('button', { name: 'More actions for this chat' }).press('Enter')
      await reader.page.getByRole('menuitem', { name: 'Copy to a workspace' }).waitFor()
      for (const name of ['Rename', 'Set goal', 'Archive', 'Move to trash'])
        await becomes(() => reader.page.getByRole('menuitem', { name, exact: true }).count(), 0)

      // Addresses with lowercase IDs work on every page.
      for (const to of [
        'drive?workspace=ID',
        'search?q=paper&workspace=ID',
        'agents?workspace=ID',
        'automations?new=ID',
      ]) {
        await page.goto(`/app/${to.replace('ID', alice.workspaceId.toLowerCase())}`)
        await page.waitForURL((url) => url.search.includes(alice.workspaceId))
      }
      assert.deepEqual([...visitor.wrongs, ...phone.wrongs, ...reader.wrongs], [])
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
)
