import assert from 'node:assert/strict'
import { test } from 'node:test'
import { make, script } from '#test/automations/hooks.ts'
import { authenticator } from '#test/outside/authenticator.ts'
import { type Mailbox, mailbox } from '#test/outside/mailbox.ts'
import { type Answer, type Caller, type Person, caller, testServer } from '#test/server.ts'
import { until } from '#test/until.ts'

const refusedWith = ({ status, body }: Answer) => [status, body.error?.code]

test('a recovery link works once across processes and ends all sessions', async () => {
  await using mail = await mailbox()
  await using server = await testServer({ environment: { SMTP_URL: mail.url } })
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const key = await alice.key()
  const guest = (origin: string) => caller(origin, { 'x-uk-csrf': '1' })
  const ask = (email: string) => guest(server.origin).post('/v1/app/recovery', { email })

  const existingResponse = await ask('ALICE@example.com')
  const text = await mail.next()
  const token = /#token=([\w-]{43})/.exec(text)![1]!
  assert.match(text, /\/app\/recovery#token=/)
  const unknown = await ask('nobody@example.com')
  assert.deepEqual([existingResponse.status, existingResponse.text], [unknown.status, unknown.text])
  // An immediate second request sends no email, with the same response.
  assert.equal((await ask(alice.email)).status, existingResponse.status)

  const recover = (origin: string) =>
    guest(origin).post('/v1/app/recovery/password', { token, new_password: 'a password of today' })
  const answers = await Promise.all([server, twin, server, twin].map(({ origin }) => recover(origin)))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 410, 410, 410])
  const recovery = answers.find(({ status }) => status === 200)!
  assert.deepEqual([recovery.body.data.id, recovery.body.data.email_verified_at === null], [alice.id, false])
  const cookie = recovery.headers.get('set-cookie')!.split(';')[0]!
  assert.equal((await server.stranger.get('/me', { cookie })).body.data.id, alice.id)
  await until(
    async () => (await alice.get('/me')).body.error?.code,
    (code) => code === 'session_expired',
  )
  assert.equal((await key.get('/me')).status, 200)
  const signIn = (password: string) => guest(server.origin).post('/auth/sign-in', { email: alice.email, password })
  assert.deepEqual(refusedWith(await signIn(alice.password)), [401, 'invalid_credentials'])
  assert.equal((await signIn('a password of today')).status, 200)
  assert.equal(mail.unread.length, 0, 'one mail in all')
})

test('a recovery link expires after an hour, and without email the request reports that', async () => {
  await using mail = await mailbox()
  await using server = await testServer({ environment: { SMTP_URL: mail.url } })
  await server.person('Alice')
  const guest = caller(server.origin, { 'x-uk-csrf': '1' })
  await guest.post('/v1/app/recovery', { email: 'alice@example.com' })
  const token = /#token=([\w-]{43})/.exec(await mail.next())![1]!
  await server.app.engine.postgres.pool.query(`update sign_in_challenges set expires_at = now() - interval '1 second'`)
  const late = await guest.post('/v1/app/recovery/password', { token, new_password: 'a password of today' })
  assert.deepEqual(refusedWith(late), [410, 'link_expired'])
  await using silent = await testServer()
  const other = caller(silent.origin, { 'x-uk-csrf': '1' })
  assert.deepEqual(refusedWith(await other.post('/v1/app/recovery', { email: 'a@example.com' })), [409, 'not_ready'])
  assert.equal((await silent.stranger.get('/app/ways-in')).body.data.recovery, false)
})

/** Reads the token from the next recovery email. */
async function tokenIn(mail: Mailbox): Promise<string> {
  for (;;) {
    const token = /recovery#token=([\w-]{43})/.exec(await mail.next())?.[1]
    if (token !== undefined) return token
  }
}

/** Ways for an account's activity to reach or act for others. */
async function openDoors(person: Person) {
  const create = async (path: string, body: object) => {
    const answer = await person.post(path, body)
    assert.equal(answer.status, 201, `${path}: ${answer.text}`)
    return answer.body.data.id as string
  }
  const hook = { name: 'All', url: 'https://mallory.example/hook', events: ['*'], workspace_id: person.workspaceId }
  const provider = { slug: 'fast', shape: 'openai-chat', base_url: 'https://mallory.example/v1', api_key: 'sk-1' }
  const webhook = await create('/webhook-endpoints', hook)
  const endpoint = await create('/ai-gateway/provider-endpoints', { ...provider, test: false })
  const automation = (await make(person)).id
  const team = await create('/workspaces', { name: 'Team' })
  const invitation = await create(`/workspaces/${team}/invitations`, { email: 'mallory@example.com', role: 'owner' })
  const chat = await create('/chats', { model: 'sim/script' })
  await create('/shares', {
    resource_type: 'chat',
    resource_id: chat,
    grantee: { email: 'mallory@example.com' },
    access: 'view',
  })
  await create(`/chats/${chat}/goal`, { objective: script({ text: 'One.' }, { delay_ms: 120_000 }, { text: 'Two.' }) })
  return { webhook, endpoint, automation, team, invitation, chat }
}

test('someone who signed up with another person’s address loses all access when its owner recovers the account', async () => {
  const page = 'http://uk.localhost:4242'
  await using mail = await mailbox()
  await using server = await testServer({ environment: { SMTP_URL: mail.url, UK_PUBLIC_URL: page } })
  const alice = await server.person('Alice')
  const mallory = await server.person('Bob')
  const browser = caller(server.origin, { origin: page, cookie: mallory.headers.cookie! })
  const key = await mallory.key()
  const device = authenticator()
  const { options } = (await browser.post('/v1/app/passkeys/creation-options')).body.data
  const passkey = { name: 'Mine', credential: device.create(options, { origin: page }) }
  assert.equal((await browser.post('/v1/app/passkeys', passkey)).status, 201)

  assert.equal((await alice.post(`/admin/accounts/${mallory.id}/credits`, { amount_usd: 5, note: 'x' })).status, 201)
  const doors = await openDoors(mallory)
  const runs = async (who: Caller) => (await who.get(`/v1/chats/${doors.chat}/runs`)).body.data
  await until(
    () => runs(mallory),
    (list: { status: string }[]) => list.some(({ status }) => status === 'running'),
  )

  const guest = caller(server.origin, { origin: page })
  const recover = async () => {
    await guest.post('/v1/app/recovery', { email: mallory.email })
    const body = { token: await tokenIn(mail), new_password: 'a password of today' }
    const answer = await guest.post('/v1/app/recovery/password', body)
    assert.equal(answer.status, 200, answer.text)
    return caller(server.origin, { origin: page, cookie: answer.headers.get('set-cookie')!.split(';')[0]! })
  }
  const bob = await recover()
  await until(
    async () => (await key.get('/me')).status,
    (status) => status === 401,
  )
  const challengeOptions = (await guest.post('/v1/app/passkeys/sign-in-options')).body.data.options
  const credential = device.get(challengeOptions, { origin: page })
  assert.equal((await guest.post('/v1/app/passkeys/sign-in', { credential })).status, 401)
  assert.deepEqual((await bob.get('/v1/app/passkeys')).body.data, [])

  const stateOf = async (path: string, field: string) => (await bob.get(`/v1${path}`)).body.data[field]
  const webhookAt = `/webhook-endpoints/${doors.webhook}`
  assert.equal(await stateOf(webhookAt, 'disabled_reason'), 'account_recovered')
  assert.equal(await stateOf(`/ai-gateway/provider-endpoints/${doors.endpoint}`, 'enabled'), false)
  assert.equal(await stateOf(`/automations/${doors.automation}`, 'paused_reason'), 'account_recovered')
  assert.equal(await stateOf(`/chats/${doors.chat}/goal`, 'status'), 'ended')
  const [invitation] = (await bob.get(`/v1/workspaces/${doors.team}/invitations?status=revoked`)).body.data
  assert.equal(invitation.id, doors.invitation)
  await until(
    () => runs(bob),
    (list: { status: string }[]) => list.every(({ status }) => status === 'cancelled'),
  )
  const [word] = await until(
    async () => (await bob.get('/v1/notifications?type=account.recovered')).body.data,
    (words: { body: string }[]) => words.length > 0,
  )
  assert.match(word!.body, /1 API keys were revoked, 1 webhooks .*, 1 providers .*, 1 automations .*, 1 invitations /)
  assert.match(word!.body, /1 shares with others/)
  const audit = async () => (await alice.get('/audit?action=account.recovered')).body.data
  const [entry] = await audit()
  assert.deepEqual([entry.actor.account_id, entry.details.first, entry.details.closed.webhooks], [mallory.id, true, 1])

  assert.equal((await bob.patch(`/v1${webhookAt}`, { status: 'enabled' })).status, 200)
  assert.equal((await bob.post(`/v1/automations/${doors.automation}/unarchive`)).body.data?.paused_reason, null)
  const own = (await bob.post('/v1/api-keys', { name: 'Own', scopes: ['*'] })).body.data.key
  await recover()
  const byKey = caller(server.origin, { authorization: `Bearer ${own}` })
  assert.equal((await byKey.get(`/automations/${doors.automation}`)).body.data?.paused_reason, null)
  assert.deepEqual(
    (await audit()).map((each: typeof entry) => each.details.first),
    [false, true],
  )
})

test('a session that ends meanwhile can’t create a key or enable anything', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const { pool } = server.app.engine.postgres
  const create = async (path: string, body: object): Promise<string> => {
    const answer = await alice.post(path, body)
    assert.equal(answer.status, 201, answer.text)
    return answer.body.data.id
  }
  const webhook = await create('/webhook-endpoints', {
    workspace_id: alice.workspaceId,
    name: 'All',
    url: 'https://alice.example/hook',
    events: ['*'],
  })
  const action = { type: 'agent', agent_id: await create('/agents', { name: 'Clerk', model: 'sim/echo' }), prompt: 'x' }
  const automation = await create('/automations', { name: 'Daily', kind: 'cron', schedule: '0 9 * * *', action })
  const endpoint = await create('/ai-gateway/provider-endpoints', {
    slug: 'fast',
    shape: 'openai-chat',
    base_url: 'https://alice.example/v1',
    api_key: 'sk-1',
    enabled: false,
    test: false,
  })
  const ending = await pool.connect()
  try {
    await ending.query('begin')
    await ending.query('select from accounts where id = $1 for update', [alice.id])
    const requests = [
      alice.post('/api-keys', { name: 'Late', scopes: ['*'] }),
      alice.patch(`/webhook-endpoints/${webhook}`, { status: 'enabled' }),
      alice.patch(`/automations/${automation}`, { schedule: '0 8 * * *' }),
      alice.post(`/automations/${automation}/unarchive`),
      alice.post(`/automations/${automation}/test-fire`),
      alice.patch(`/ai-gateway/provider-endpoints/${endpoint}`, { enabled: true }),
    ]
    await until(
      async () => (await pool.query('select from pg_locks where not granted')).rowCount,
      (waiting) => waiting! >= requests.length,
    )
    await ending.query('delete from sessions where account_id = $1', [alice.id])
    await ending.query('commit')
    for (const answer of await Promise.all(requests)) assert.deepEqual(refusedWith(answer), [401, 'session_expired'])
  } finally {
    ending.release()
  }
})

test('many simultaneous requests to two processes send one email; setting a password revokes its link', async () => {
  await using mail = await mailbox()
  await using server = await testServer({ environment: { SMTP_URL: mail.url } })
  await using twin = await server.twin()
  const alice = await server.person('Alice')
  const { pool } = server.app.engine.postgres
  const guests = [server, twin].map(({ origin }) => caller(origin, { 'x-uk-csrf': '1' }))
  const ask = (i: number) => guests[i % 2]!.post('/v1/app/recovery', { email: alice.email })
  await Promise.all(Array.from({ length: 12 }, (_, i) => ask(i)))
  const token = await tokenIn(mail)
  const jobs = `select from graphile_worker.jobs where task_identifier in ('accounts.recover', 'mail.send')`
  await until(
    async () => (await pool.query(jobs)).rowCount,
    (count) => count === 0,
  )
  const { rows } = await pool.query(`select from sign_in_challenges where purpose = 'recovery'`)
  assert.deepEqual([rows.length, mail.unread.length], [1, 0])
  const change = { current_password: alice.password, new_password: 'a password of today' }
  assert.equal((await alice.post('/auth/password', change)).status, 200)
  const late = await guests[0]!.post('/v1/app/recovery/password', { token, new_password: 'a password of old' })
  assert.deepEqual(refusedWith(late), [410, 'link_expired'])
})
