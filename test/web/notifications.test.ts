import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { needs } from '../needs.ts'
import { testServer } from '../server.ts'
import { becomes, until } from '../until.ts'
import { hasChromium, sharedBrowser, visit } from './browser.ts'
import { environment } from './scene/scene.ts'
import { signIn } from './steps.ts'

const browser = sharedBrowser()

test(
  'notifications link to shared chats, failed automations and the notification settings',
  needs(hasChromium, 'Chromium'),
  async () => {
    await using server = await testServer({ environment: { ...environment, UK_SIGN_UP_CREDITS_USD: '5' } })
    const [aki, ben] = [await server.person('Aki'), await server.person('Ben')]
    const made = async (person: typeof aki, path: string, body: object) => {
      const answer = await person.post(path, body)
      assert.ok(answer.status < 300, `${path}: ${answer.text}`)
      return answer.body.data
    }
    const shop = await made(aki, '/workspaces', { name: 'Print shop' })
    const { token } = await made(aki, `/workspaces/${shop.id}/invitations`, { email: ben.email })
    await made(ben, '/invitations/accept', { token })
    const chat = await made(aki, '/chats', { workspace_id: aki.workspaceId, title: 'Views', model: 'sim/echo' })
    await made(aki, `/chats/${chat.id}/messages`, { content: 'Seven <b>views</b>' })
    await made(aki, '/shares', { resource_type: 'chat', resource_id: chat.id, grantee: { user_id: ben.id } })
    const agent = await made(ben, '/agents', { workspace_id: ben.workspaceId, name: 'Clerk', model: 'sim/none' })
    const automation = await made(ben, '/automations', {
      workspace_id: ben.workspaceId,
      name: 'Report',
      kind: 'webhook',
      action: { type: 'agent', agent_id: agent.id, prompt: 'Report the news.' },
    })
    await made(ben, `/automations/${automation.id}/test-fire`, {})
    const told = async (type: string): Promise<string> => {
      for (;;) {
        const found = (await ben.get(`/notifications?type=${type}`)).body.data[0]
        if (found) return found.action_url
      }
    }

    await using visitor = await visit(browser(), server.origin)
    const { page } = visitor
    await signIn(page, ben)
    await page.goto(await told('share.received'))
    await page.getByRole('link', { name: 'Views' }).click()
    await page.getByRole('heading', { level: 1, name: 'Views' }).waitFor()
    const messages = page.getByRole('log', { name: 'Messages' }).getByRole('article')
    await messages.nth(1).waitFor()
    // Both messages are shown, and user text is never markup.
    await becomes(() => messages.getByText('Seven <b>views</b>').count(), 2)
    await messages.first().getByText('Another user').waitFor()

    await page.goto(await told('automation.failed'))
    await page.getByRole('heading', { level: 1, name: 'Report' }).waitFor()
    const run = page.getByRole('list', { name: 'Runs' }).getByRole('listitem')
    await run.getByText('failed').waitFor()
    await run.getByText(/sim\/none/).waitFor()
    await made(ben, `/automations/${automation.id}/archive`, {})
    await page.reload()
    await page.getByRole('button', { name: 'Resume automation' }).click()
    await page.getByText('active', { exact: true }).waitFor()
    assert.equal((await ben.get(`/automations/${automation.id}`)).body.data.status, 'active')

    await page.getByRole('link', { name: /^Inbox/ }).click()
    await page.getByRole('link', { name: 'notification settings' }).click()
    const wishes = async () =>
      (await ben.get('/notifications/preferences')).body.data.preferences
        .filter(({ type }: { type: string }) => type === 'automation.failed')
        .map(({ channel, enabled, digest }: Record<string, unknown>) => [channel, enabled, digest])
    await page.getByRole('checkbox', { name: 'Push: An automation run failed.' }).uncheck()
    await page.getByRole('combobox', { name: 'Email: An automation run' }).selectOption('daily digest')
    const wished = [
      ['in_app', true, 'none'],
      ['email', true, 'daily'],
      ['push', false, 'none'],
    ]
    // The saving message appears a moment after the click.
    await until(wishes, (now) => isDeepStrictEqual(now, wished))
    await page.getByText('Changes are saved automatically.').waitFor()
    await page.reload()
    await becomes(() => page.getByRole('checkbox', { name: 'Push: An automation run' }).isChecked(), false)
    // A chat without access shows an error.
    const other = await made(aki, '/chats', { workspace_id: aki.workspaceId, title: 'Mine' })
    await page.goto(`/app/chats/${other.id}`)
    await page.getByText('This chat can’t be shown.').waitFor()
    assert.deepEqual(visitor.wrongs, [])
  },
)

test('after missed events, the page refetches everything it shows', needs(hasChromium, 'Chromium'), async () => {
  await using server = await testServer({ environment })
  const ben = await server.person('Ben')
  await using visitor = await visit(browser(), server.origin)
  const { page } = visitor
  let made: () => void
  const isMade = new Promise<void>((done) => (made = done))
  const positions: (string | undefined)[] = []
  // The stream ended with a server restart; this handler answers the next one.
  await page.route('**/realtime/subscribe*', async (route) => {
    const channels = new URL(route.request().url()).searchParams.get('channels')!.split(',')
    positions.push(route.request().headers()['last-event-id'])
    if (positions.length > 1) return route.continue()
    await isMade
    const data = { channels: channels.map((channel) => ({ channel, epoch: 'before', offset: 7, recovered: true })) }
    const body = `id: of-another-life\nevent: subscribed\ndata: ${JSON.stringify(data)}\n\n`
    await route.fulfill({ contentType: 'text/event-stream', body })
  })
  await signIn(page, ben)
  await page.getByRole('link', { name: 'Chats', exact: true }).click()
  await page.getByText('No chats yet').waitFor()
  await ben.post('/chats', { workspace_id: ben.workspaceId, title: 'Made while nobody listened' })
  made!()
  await page.getByRole('link', { name: 'Made while nobody listened' }).first().waitFor()
  assert.equal(positions[1], 'of-another-life')
  assert.deepEqual(visitor.wrongs, [])
})
