import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { teamOf } from '#test/makers.ts'
import { type Caller, type Person, type TestServer, testServer } from '#test/server.ts'
import { findEndedLinks, findMachine } from './credentials.ts'

let server: TestServer
let alice: Person
let bob: Person

before(async () => {
  server = await testServer()
  alice = await server.person('Alice')
  bob = await server.person('Bob')
})
after(() => server[Symbol.asyncDispose]())

const machine = { os: 'linux', arch: 'x64', hostname: 'studio', daemon_version: '1.2.3', protocol: 1 }
const pair = (token: string, more: object = {}, caller: Caller = server.stranger) =>
  caller.post('/computers/pair', { token, ...machine, ...more })
const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body.error?.code]
const pairing = async (more: object = {}, person: Person = alice) =>
  (await person.post('/computer-pairings', more)).body.data

test('a machine pairs with its owner’s token', async () => {
  const pairingResponse = await alice.post('/computer-pairings', { name: 'Studio' })
  assert.equal(pairingResponse.status, 201)
  const { token, code, command, install_command, id, status, computer_id, expires_at } = pairingResponse.body.data
  assert.match(token, /^ukp_[0-9A-Za-z]{43}$/)
  assert.match(code, /^[2-9A-Z]{4}-[2-9A-Z]{4}$/)
  // Users can see and remove capabilities before running the command.
  const allow = '--allow exec,terminal,fs_read,fs_write,ports,inference'
  assert.equal(command, `UK_PAIR_TOKEN=${token} uk computer run --url ${server.origin} ${allow}`)
  assert.equal(install_command, `curl -fsS ${server.origin}/install | UK_PAIR_TOKEN=${token} sh -s -- ${allow}`)
  assert.deepEqual([status, computer_id], ['waiting', null])
  const minutes = (Date.parse(expires_at) - Date.now()) / 60_000
  assert.ok(minutes > 9 && minutes <= 10)

  const response = await pair(token, { name: 'what the machine calls itself' })
  assert.equal(response.status, 201, response.text)
  const { computer, credential, server_url } = response.body.data
  assert.match(credential, /^ukm_[0-9A-Za-z]{43}$/)
  assert.equal(server_url, server.origin)
  assert.deepEqual(computer.owner, { type: 'account', id: alice.id })
  assert.deepEqual(
    [computer.name, computer.kind, computer.lifecycle, computer.connection, computer.hostname],
    ['Studio', 'paired', 'running', 'never_connected', 'studio'],
  )
  const { data: after } = (await alice.get(`/computer-pairings/${id}`)).body
  assert.deepEqual(
    [after.status, after.computer_id, 'token' in after, 'code' in after],
    ['paired', computer.id, false, false],
  )
  assert.deepEqual((await alice.get(`/computers/${computer.id}`)).body.data, computer)
  assert.equal((await bob.get(`/computers/${computer.id}`)).status, 404)
  assert.equal((await bob.get(`/computer-pairings/${id}`)).status, 404)
  // The credential identifies the machine but isn't an API key.
  const machine = await findMachine(server.app.engine.postgres.db, credential)
  assert.ok(machine)
  assert.equal(machine.computerId, computer.id)
  assert.deepEqual(await findEndedLinks(server.app.engine.postgres.db, [{ ...machine, epoch: 0 }]), [])
  assert.equal(await findMachine(server.app.engine.postgres.db, `${credential.slice(0, -1)}!`), null)
  const asKey = await server.stranger.get('/me', { authorization: `Bearer ${credential}` })
  assert.equal(asKey.status, 401)
})

test('a token works once, even for concurrent requests', async () => {
  const { token } = await pairing()
  const answers = await Promise.all(Array.from({ length: 8 }, () => pair(token)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, ...Array.from({ length: 7 }, () => 410)])
  assert.deepEqual(code(await pair(token)), [410, 'link_expired'])
})

test('the typed code also pairs, in any spelling', async () => {
  const { code: typedCode } = await pairing()
  const response = await pair(` ${typedCode.toLowerCase().replace('-', ' ')} `)
  assert.equal(response.status, 201, response.text)
  assert.equal(response.body.data.computer.name, 'studio')
  assert.deepEqual(code(await pair(typedCode)), [401, 'invalid_credentials'])
})

test('ten wrong codes end a pairing and its token, even when sent concurrently', async () => {
  const newPairing = await pairing()
  const half = newPairing.code.slice(0, 5)
  const wrong = [...'23456789ABCDEFGH']
    .map((letter) => `${half}${letter.repeat(4)}`)
    .filter((one) => one !== newPairing.code)
  const nine = await Promise.all(wrong.slice(0, 9).map((one) => pair(one)))
  assert.ok(nine.every((answer) => code(answer).join() === '401,invalid_credentials'))
  assert.equal((await alice.get(`/computer-pairings/${newPairing.id}`)).body.data.status, 'waiting')
  await Promise.all(wrong.map((one) => pair(one)))
  assert.equal((await alice.get(`/computer-pairings/${newPairing.id}`)).body.data.status, 'expired')
  assert.deepEqual(code(await pair(newPairing.code)), [401, 'invalid_credentials'])
  assert.deepEqual(code(await pair(newPairing.token)), [410, 'link_expired'])
})

test('a wrong token or code counts as a failed sign-in', async () => {
  await using strict = await testServer({ environment: { UK_LIMIT_LOGINS: '3' } })
  const carol = await strict.person('Carol')
  const { data } = (await carol.post('/computer-pairings', {})).body
  const ask = (token: string) => strict.stranger.post('/computers/pair', { token, ...machine })
  for (const token of [`ukp_${'x'.repeat(43)}`, 'AAAA-AAAA', 'what?'])
    assert.deepEqual(code(await ask(token)), [401, 'invalid_credentials'])
  assert.deepEqual(code(await ask(data.token)), [429, 'rate_limited'])
})

test('a pairing ends after ten minutes, on cancellation, or when its creator loses permission', async () => {
  const { pool } = server.app.engine.postgres
  const old = await pairing()
  await pool.query(`update computer_pairings set expires_at = now() where id = $1`, [old.id])
  assert.deepEqual(code(await pair(old.token)), [410, 'link_expired'])
  assert.equal((await alice.get(`/computer-pairings/${old.id}`)).body.data.status, 'expired')

  const cancelled = await pairing()
  assert.deepEqual((await alice.delete(`/computer-pairings/${cancelled.id}`)).body, { deleted: true, id: cancelled.id })
  assert.deepEqual(code(await pair(cancelled.token)), [410, 'link_expired'])
  const used = await pairing()
  await pair(used.token)
  assert.deepEqual(code(await alice.delete(`/computer-pairings/${used.id}`)), [409, 'invalid_state'])

  const team = await teamOf(alice, [[bob, 'member']])
  const { token } = await pairing({ workspace_id: team }, bob)
  const another = await pairing({ workspace_id: team }, bob)
  assert.ok((await bob.get('/computer-pairings')).text.includes(another.id))
  const { data } = (await pair(token)).body
  assert.deepEqual(data.computer.owner, { type: 'workspace', id: team })
  assert.equal((await alice.get(`/computers/${data.computer.id}`)).status, 200)
  await alice.delete(`/workspaces/${team}/members/${bob.id}`)
  assert.deepEqual(code(await pair(another.token)), [410, 'link_expired'])
  assert.equal((await bob.get(`/computers/${data.computer.id}`)).status, 404)
  assert.equal((await bob.get(`/computer-pairings/${another.id}`)).status, 404)
  assert.equal((await bob.get('/computer-pairings')).text.includes(team), false)
  assert.deepEqual(code(await bob.post('/computer-pairings', { workspace_id: team })), [404, undefined])
})

test('pairings of revoked keys or keys without the scope can’t be redeemed', async () => {
  const key = await alice.key({ scopes: ['computer:write'] })
  const { data } = (await key.post('/computer-pairings', {})).body
  await alice.delete(`/api-keys/${key.keyId}`)
  assert.deepEqual(code(await pair(data.token)), [410, 'link_expired'])
  const reader = await alice.key({ scopes: ['computer:read'] })
  assert.deepEqual(code(await reader.post('/computer-pairings', {})), [403, 'missing_scope'])
})

test('tokens, codes and credentials aren’t stored in plain text', async () => {
  const newPairing = await pairing()
  const { credential } = (await pair(newPairing.token)).body.data
  const { rows } = await server.app.engine.postgres.pool.query(
    `select to_jsonb(p)::text || coalesce((select string_agg(to_jsonb(c)::text, '') from computer_credentials c), '') as all
     from computer_pairings p where id = $1`,
    [newPairing.id],
  )
  for (const secret of [newPairing.token, newPairing.code, newPairing.code.replace('-', ''), credential])
    assert.equal(rows[0].all.includes(secret), false)
})
