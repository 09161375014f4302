import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Made, make } from '#test/automations/hooks.ts'
import { signed } from '#test/automations/senders.ts'
import { type Person, type TestServer, testServer } from '#test/server.ts'
import { newId } from '#core/ids.ts'
import { newWebhookSecret } from '#core/text/standard-webhooks.ts'
import { newToken } from './token.ts'

let server: TestServer
let alice: Person
/** IDs a stranger may try: existing, deleted, unknown, and not fireable. */
const ids: Record<string, string> = {}
let hook: Made

before(async () => {
  server = await testServer({ environment: { UK_LIMIT_INFERENCE: '0' } })
  alice = await server.person('Alice')
  hook = await make(alice)
  ids['a webhook'] = hook.id
  ids['one whose secret was rotated'] = (await make(alice)).id
  await alice.post(`/automations/${ids['one whose secret was rotated']}/rotate-secret`, { overlap_seconds: 600 })
  ids['an archived one'] = (await make(alice)).id
  await alice.post(`/automations/${ids['an archived one']}/archive`)
  ids['one by the clock'] = (await make(alice, { kind: 'cron', schedule: '0 0 1 1 *' })).id
  ids['a deleted one'] = (await make(alice)).id
  await alice.delete(`/automations/${ids['a deleted one']}`)
  ids['an agent'] = (await alice.post('/agents', { name: 'Clerk' })).body.data.id
})
after(() => server[Symbol.asyncDispose]())

const other = { secret: newWebhookSecret() }
const credentials: Record<string, () => Record<string, string>> = {
  nothing: () => ({}),
  'another token': () => ({ authorization: `Bearer ${newToken()}` }),
  'a token of another form': () => ({ authorization: 'Bearer ukw_short' }),
  'an API key': () => ({ authorization: 'Bearer uk_00000' }),
  'a signature by another secret': () => signed(other, 'one', '{}'),
  'no timestamp': () => ({ ...signed(other, 'one', '{}'), 'webhook-timestamp': '' }),
  'an old signature': () => ({ ...signed(other, 'one', '{}'), 'webhook-timestamp': '1600000000' }),
  'garbage as signature': () => ({ ...signed(other, 'one', '{}'), 'webhook-signature': 'v1,****' }),
}

for (const [title, headersOf] of Object.entries(credentials))
  test(`with ${title}, an existing webhook responds like an unknown one`, async () => {
    const fire = async (id: string) => {
      const { status, text, headers } = await server.stranger.request(
        'POST',
        `/automations/${id}/fire`,
        {},
        headersOf(),
      )
      return { status, text, headers: [...headers.keys()].toSorted() }
    }
    const never = await fire(newId())
    assert.equal(never.status, 401)
    for (const [what, id] of Object.entries(ids)) assert.deepEqual(await fire(id), never, what)
  })

test('existing and unknown webhooks cause the same queries and computations', async () => {
  const queriesFor = async (id: string): Promise<string[]> => {
    const { pool } = server.app.engine.postgres
    const queries: string[] = []
    const connect = (client: { query: (...args: any[]) => unknown }) => {
      const { query } = client
      client.query = (...args) => {
        // Scheduled queries over all automations don't contain the ID.
        const [text, values] = typeof args[0] === 'string' ? args : [args[0].text, args[0].values]
        if (Array.isArray(values) && values.includes(id)) queries.push(text)
        return query.apply(client, args)
      }
      return () => (client.query = query)
    }
    const back: (() => unknown)[] = []
    const onAcquire = (client: any): void => void back.push(connect(client))
    pool.on('acquire', onAcquire)
    await server.stranger.request('POST', `/automations/${id}/fire`, {}, signed(other, 'one', '{}'))
    pool.off('acquire', onAcquire)
    for (const undo of back) undo()
    return queries
  }
  const never = await queriesFor(newId())
  assert.ok(never.length >= 2, never.join('\n'))
  for (const [what, id] of Object.entries(ids)) assert.deepEqual(await queriesFor(id), never, what)
})

test('the token fires the webhook', async () => {
  const headers = { authorization: `Bearer ${hook.token}` }
  assert.equal((await server.stranger.request('POST', `/automations/${hook.id}/fire`, {}, headers)).status, 202)
})
