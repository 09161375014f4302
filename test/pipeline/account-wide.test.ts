/**
 * Callers bound to one workspace can't change the account. Covers every writing endpoint that names neither a workspace
 * nor a resource in one.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { loadContracts } from '#modules/contracts.ts'
import { newId } from '#core/ids.ts'
import { list } from '#core/registry.ts'
import { call, results, say, script, tools } from '../chats/chats.ts'
import { pathOf, requiredFields, validBody } from './least-call.ts'
import { type Caller, type Person, type TestServer, testServer } from '../server.ts'

const all = list(await loadContracts())
const unplacedEndpoints = all.filter(({ endpoint: { access, method, refused } }) => {
  const isUnplaced = access.kind === 'scope' || access.kind === 'account' || access.kind === 'personal'
  return isUnplaced && method !== 'GET' && !access.scope.endsWith(':read') && refused === undefined
})
const ofAccount = unplacedEndpoints.filter(({ endpoint }) => endpoint.access.kind === 'account')

/** Endpoints that don't change the account, with reasons. */
const verdicts: Record<string, string> = {
  'shares.create': 'the workspace of the resource it names',
  'shares.update': 'the workspace of the resource it names',
  'shares.revoke': 'the workspace of the resource it names',
  'drive.upload': 'the workspace or folder it names',
  'drive.create_folder': 'the workspace or folder it names',
  'drive.begin_upload': 'the workspace or folder it names',
  'ai_gateway.create': 'the workspace that the key is held to',
  'notifications.send': 'told of that workspace',
  'notifications.read_all': 'what came from that workspace',
  'cloud_computers.delete_snapshot': 'the workspace that the snapshot belongs to',
  'realtime.broadcast': 'the workspace of its channel',
  'realtime.heartbeat': 'the workspace of its channel',
}

test('each endpoint that writes is account-level or listed as an exception', () => {
  const names = unplacedEndpoints.filter(({ endpoint }) => endpoint.access.kind !== 'account').map(({ name }) => name)
  assert.deepEqual(names.toSorted(), Object.keys(verdicts).toSorted())
  assert.ok(ofAccount.length >= 8)
})

let server: TestServer
let alice: Person
let vera: Person
let eve: Person
let team: string
before(async () => {
  server = await testServer({ environment: { UK_LIMIT_READS: '0', UK_LIMIT_WRITES: '0' } })
  ;[alice, vera, eve] = [await server.person('Alice'), await server.person('Vera'), await server.person('Eve')]
  team = (await alice.post('/workspaces', { name: 'Team' })).body.data.id
  for (const [person, role] of [
    [vera, 'viewer'],
    [eve, 'admin'],
  ] as const) {
    const invitation = await alice.post(`/workspaces/${team}/invitations`, { email: person.email, role })
    assert.equal((await person.post('/invitations/accept', { token: invitation.body.data.token })).status, 200)
  }
})
after(() => server[Symbol.asyncDispose]())

async function stateOf(person: Person): Promise<string[]> {
  const subjects = [
    '/settings',
    '/notifications/config',
    '/notifications/preferences',
    '/notifications/push-subscriptions',
  ]
  const texts = await Promise.all(subjects.map(async (path) => (await person.get(path)).text))
  const { data } = (await person.get('/workspaces')).body
  // Excludes spending: a working agent pays for its calls.
  return [...texts.map((text) => text.replace(/"unread_count":\d+/, '')), ...data.map(({ id }: { id: string }) => id)]
}

const cases: Record<string, () => Promise<[Person, Caller]>> = {
  'an owner’s key to the team': async () => [alice, await alice.key({ workspace_id: team })],
  'a key to the personal workspace': async () => [alice, await alice.key({ workspace_id: alice.workspaceId })],
  'a viewer’s key to the team': async () => [vera, await vera.key({ workspace_id: team })],
  'an ex-member’s key to the team': async () => {
    const key = await eve.key({ workspace_id: team })
    assert.equal((await alice.delete(`/workspaces/${team}/members/${eve.id}`)).status, 200)
    return [eve, key]
  },
}
for (const [title, arrange] of Object.entries(cases))
  test(`${title} can’t change the account`, async () => {
    const [person, key] = await arrange()
    const state = await stateOf(person)
    for (const { name, endpoint } of ofAccount) {
      const path = pathOf(endpoint, newId()) + requiredFields(endpoint)
      const answer = await key.request(endpoint.method, path, validBody(endpoint))
      assert.deepEqual([answer.status, answer.body.error?.code], [403, 'capability_denied'], name)
    }
    assert.deepEqual(await stateOf(person), state)
  })

test('sessions and keys for the whole account are allowed', async () => {
  for (const who of [alice, await alice.key()])
    for (const { name, endpoint } of ofAccount) {
      const path = pathOf(endpoint, newId()) + requiredFields(endpoint)
      const answer = await who.request(endpoint.method, path, validBody(endpoint))
      assert.notEqual(answer.body?.error?.code, 'capability_denied', name)
    }
})

test('an agent working in a workspace can’t change the account', async () => {
  const names = ofAccount.filter(({ endpoint }) => endpoint.consent === undefined).map(({ name }) => name)
  assert.ok(names.length > 0)
  const allowPolicies = tools(Object.fromEntries(names.map((name) => [name, 'allow'])))
  const agent = (await alice.post('/agents', { name: 'Worker', model: 'sim/script', tools: allowPolicies })).body.data
    .id
  const chat = (await alice.post('/chats', { agent_id: agent })).body.data.id
  const calls = ofAccount
    .filter(({ name }) => names.includes(name))
    .map(({ name, endpoint }) => call(name.replace('.', '_'), validBody(endpoint) ?? {}))
  const state = await stateOf(alice)
  const message = await alice.post(`/chats/${chat}/messages`, { content: script(calls, [say('done')]) })
  assert.equal(message.status, 200, message.text)
  const outcomes = results(message.body.data.message ?? message.body.data)
  assert.equal(outcomes.length, names.length, message.text)
  for (const { output, is_error } of outcomes) {
    assert.equal(is_error, true)
    assert.match(JSON.stringify(output), /capability_denied/)
  }
  assert.deepEqual(await stateOf(alice), state)
})

test('resources created by a workspace-bound key without naming a workspace belong to its workspace', async () => {
  const key = await alice.key({ workspace_id: team })
  const provider = {
    name: 'Ours',
    slug: 'ours',
    shape: 'openai-chat',
    base_url: 'https://api.example.com/v1',
    api_key: 'sk-1',
  }
  const response = await key.post('/ai-gateway/provider-endpoints', provider)
  assert.deepEqual([response.status, response.body.data?.workspace_id], [201, team], response.text)
  await alice.post('/notifications', { title: 'Of no workspace' })
  assert.equal((await key.post('/notifications', { title: 'Of the team' })).body.data.workspace_id, team)
  assert.equal((await key.post('/notifications/read-all', {})).status, 200)
  const { data } = (await alice.get('/notifications?status=unread')).body
  assert.deepEqual(
    data.map(({ title }: { title: string }) => title).filter((title: string) => title.startsWith('Of ')),
    ['Of no workspace'],
  )
})
