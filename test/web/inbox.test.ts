/** Notifications while the app is open: at once, in every window, until the session ends. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needs } from '../needs.ts'
import { testServer } from '../server.ts'
import { hasChromium, sharedBrowser, visit } from './browser.ts'
import { signIn } from './steps.ts'

const browser = sharedBrowser()

test(
  'notifications appear in all windows, read states are shared, and a revoked session shows the sign-in page',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment: { UK_SIM: 'on' } })
    const alice = await server.person('Alice')
    const chat = (await alice.post('/chats', { title: 'Views' })).body.data
    await using first = await visit(browser(), server.origin)
    await using second = await visit(browser(), server.origin)
    for (const { page } of [first, second]) await signIn(page, alice)
    await first.page.getByRole('link', { name: 'Inbox' }).click()
    await first.page.getByText('Nothing here yet').waitFor()
    const sent = await alice.post('/notifications', {
      title: 'The print is ready',
      body: 'Come and see.',
      action_url: `/app/chats/${chat.id}`,
    })
    assert.equal(sent.status, 201, sent.text)
    await alice.post('/notifications', { title: 'Without a link' })
    await second.page.getByRole('link', { name: 'Inbox 2 unread' }).waitFor()
    const rows = first.page.getByRole('list', { name: 'Notifications' }).getByRole('listitem')
    await rows.getByText('Without a link').waitFor()
    await rows.getByRole('link', { name: 'The print is ready' }).click()
    await first.page.waitForURL(`**/app/chats/${chat.id}`)
    await second.page.getByRole('link', { name: 'Inbox 1 unread' }).click()
    await second.page.getByRole('button', { name: 'Mark all as read' }).click()
    await first.page.getByRole('link', { name: 'Inbox', exact: true }).waitFor()

    await second.page.getByRole('link', { name: 'Developer settings' }).click()
    for (const { id, current } of (await alice.get('/auth/sessions')).body.data)
      if (!current) assert.equal((await alice.delete(`/auth/sessions/${id}`)).status, 200)
    for (const { page } of [first, second]) await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    assert.deepEqual([...first.wrongs, ...second.wrongs], [])
  },
)
