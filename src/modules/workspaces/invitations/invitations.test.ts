import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { SMTPServer } from 'smtp-server'
import { type Person, type TestServer, testServer } from '#test/server.ts'

async function workspaceOf(person: Person) {
  const { id } = (await person.post('/workspaces', { name: 'Team' })).body.data
  return { id: id as string, at: `/workspaces/${id}` }
}
const code = ({ status, body }: { status: number; body: { error?: { code?: string } } }) => [status, body.error?.code]

test('without a mail server the inviter gets the token once, and accepting it twice is the same as once', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const carol = await server.person('Carol')
  const { id, at } = await workspaceOf(alice)
  const { data: invited } = (await alice.post(`${at}/invitations`, { email: bob.email, role: 'admin' })).body
  assert.match(invited.token, /^[\w-]{43}$/)
  assert.deepEqual([invited.status, invited.role, invited.created_by], ['pending', 'admin', alice.id])
  const days = (Date.parse(invited.expires_at) - Date.parse(invited.created_at)) / 86_400_000
  assert.ok(Math.abs(days - 7) < 0.01)
  const [listed] = (await alice.get(`${at}/invitations?status=pending`)).body.data
  assert.equal('token' in listed, false)

  const first = await bob.post('/invitations/accept', { token: invited.token })
  assert.deepEqual([first.status, first.body.data.status, first.body.data.accepted_by], [200, 'accepted', bob.id])
  const again = await bob.post('/invitations/accept', { token: invited.token })
  assert.deepEqual(again.body, first.body)
  assert.deepEqual(code(await carol.post('/invitations/accept', { token: invited.token })), [410, 'invitation_expired'])
  assert.equal((await carol.post('/invitations/accept', { token: 'a-guess' })).body.error.param, 'token')
  // Alice read the token herself: that bob presents it says nothing about his address.
  assert.equal((await bob.get('/me')).body.data.email_verified_at, null)
  assert.deepEqual(code(await alice.post(`${at}/invitations`, { email: bob.email.toUpperCase() })), [
    409,
    'already_exists',
  ])
  // Once removed, the old token does not let him in again.
  await alice.delete(`${at}/members/${bob.id}`)
  assert.deepEqual(code(await bob.post('/invitations/accept', { token: invited.token })), [410, 'invitation_expired'])
  assert.equal((await bob.get(`/workspaces/${id}`)).status, 404)
})

test('a newer invitation, a revocation or seven days end an invitation', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const { at } = await workspaceOf(alice)
  const invite = async () => (await alice.post(`${at}/invitations`, { email: bob.email })).body.data
  const accept = (token: string) => bob.post('/invitations/accept', { token })
  const gone = [410, 'invitation_expired']

  const first = await invite()
  const second = await invite()
  assert.deepEqual(code(await accept(first.token)), gone)
  assert.deepEqual((await alice.delete(`${at}/invitations?invitation_id=${second.id}`)).body, {
    deleted: true,
    id: second.id,
  })
  assert.equal((await alice.delete(`${at}/invitations`, { invitation_id: second.id })).status, 200, 'again')
  assert.deepEqual(code(await accept(second.token)), gone)
  assert.deepEqual(code(await alice.delete(`${at}/invitations`)), [400, 'missing_parameter'])

  const third = await invite()
  await server.app.engine.postgres.pool.query(
    `update invitations set expires_at = now() - interval '1 second' where id = $1`,
    [third.id],
  )
  assert.deepEqual(code(await accept(third.token)), gone)
  const statuses = (await alice.get(`${at}/invitations`)).body.data.map((row: { status: string }) => row.status)
  assert.deepEqual(statuses, ['expired', 'revoked', 'revoked'])
  assert.equal((await alice.get(`${at}/invitations?status=expired`)).body.data[0].id, third.id)

  const fourth = await invite()
  assert.equal((await accept(fourth.token)).status, 200)
  assert.deepEqual(code(await alice.delete(`${at}/invitations?invitation_id=${fourth.id}`)), [409, 'invalid_state'])
  const other = await workspaceOf(bob)
  assert.equal((await bob.delete(`${other.at}/invitations?invitation_id=${fourth.id}`)).status, 404)
})

test('open invitations of a member who may no longer invite are revoked', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const carol = await server.person('Carol')
  const { at } = await workspaceOf(alice)
  const { token } = (await alice.post(`${at}/invitations`, { email: bob.email, role: 'admin' })).body.data
  await bob.post('/invitations/accept', { token })
  const back = (await bob.post(`${at}/invitations`, { email: carol.email, role: 'admin' })).body.data
  await alice.patch(`${at}/members/${bob.id}`, { role: 'member' })
  assert.deepEqual(code(await carol.post('/invitations/accept', { token: back.token })), [410, 'invitation_expired'])
})

test('a token presented twice at the same time admits one person', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const people = [await server.person('Bob'), await server.person('Carol')]
  const { at } = await workspaceOf(alice)
  const { token } = (await alice.post(`${at}/invitations`, { email: 'x@example.com' })).body.data
  const answers = await Promise.all(people.map((person) => person.post('/invitations/accept', { token })))
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 410])
  assert.equal((await alice.get(at)).body.data.member_count, 2)
})

test('with a mail server a separate emailed token verifies the address, and the inviter’s token doesn’t', async () => {
  await using post = await postOffice()
  await using server = await testServer({ environment: { SMTP_URL: post.url, UK_PUBLIC_URL: 'http://127.0.0.1:1' } })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  const carol = await server.person('Carol')
  const { at } = await workspaceOf(alice)
  const { data: invited } = (await alice.post(`${at}/invitations`, { email: bob.email, role: 'member' })).body
  assert.equal(invited.token, null)
  const mail = await post.next()
  assert.deepEqual([mail.to, mail.from], [[bob.email], 'ukiyo@localhost'])
  assert.match(mail.text, /^Subject: Alice invited you to Team\r$/m)
  assert.match(mail.text, /text\/plain/)
  assert.match(mail.text, /text\/html/)
  const [, token] = /invitations#token=3D([\w-]{43})|invitations#token=([\w-]{43})/.exec(
    mail.text.replace(/=\r\n/g, ''),
  )!
  assert.ok(token)
  const before = await bob.get('/invitations')
  assert.deepEqual(before.body.data, [], 'an unverified address claims nothing')
  assert.equal((await bob.post('/invitations/accept', { invitation_id: invited.id })).status, 404)
  const handed = /#token=([\w-]{43})$/.exec(invited.url)![1]!
  assert.notEqual(handed, token, 'alice has never seen the token of the mail')
  const dan = await server.person('Dan')
  const mate = (await alice.post(`${at}/invitations`, { email: dan.email })).body.data
  await post.next()
  await dan.post('/invitations/accept', { token: /#token=([\w-]{43})$/.exec(mate.url)![1]! })
  assert.equal((await dan.get('/me')).body.data.email_verified_at, null)
  assert.equal((await bob.post('/invitations/accept', { token })).status, 200)
  assert.notEqual((await bob.get('/me')).body.data.email_verified_at, null)

  // From now on bob's address is known to be his: invitations to it are his to take.
  const second = await workspaceOf(carol)
  const { data: next } = (await carol.post(`${second.at}/invitations`, { email: bob.email })).body
  const received = (await bob.get('/invitations')).body.data
  assert.deepEqual(
    received.map((row: Record<string, unknown>) => [row.id, row.workspace_name, row.invited_by]),
    [[next.id, 'Team', 'Carol']],
  )
  assert.equal((await alice.post('/invitations/accept', { invitation_id: next.id })).status, 404)
  assert.equal((await bob.post('/invitations/accept', { invitation_id: next.id })).status, 200)
  assert.deepEqual((await bob.get('/invitations')).body.data, [])
  await noTokenKept(server, token)
})

test('an email that the mail server temporarily rejects is retried for days', async () => {
  let refusals = 0
  const refusing = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth(_, __, done) {
      refusals++
      done(Object.assign(new Error('the password has expired'), { responseCode: 535 }))
    },
  })
  await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve))
  const { port } = refusing.server.address() as AddressInfo
  try {
    await using server = await testServer({ environment: { SMTP_URL: `smtp://us:old@127.0.0.1:${port}` } })
    const alice = await server.person('Alice')
    const { at } = await workspaceOf(alice)
    assert.equal((await alice.post(`${at}/invitations`, { email: 'bob@example.com' })).status, 201)
    const { pool } = server.app.engine.postgres
    for (;;) {
      const { rows } = await pool.query<{ attempts: number; days: number }>(
        `select attempts, (select sum(exp(least(10, n))) / 86400 from generate_series(1, max_attempts - 1) n)::float8 as days
         from graphile_worker.jobs where task_identifier = 'mail.send' and last_error is not null`,
      )
      if (rows[0]) {
        assert.ok(rows[0].days > 3 && rows[0].days < 7, `it is given up after ${rows[0].days} days`)
        break
      }
      const left = await pool.query(`select 1 from graphile_worker.jobs where task_identifier = 'mail.send'`)
      assert.equal(left.rowCount, 1, 'the mail was given up')
    }
    assert.ok(refusals > 0)
  } finally {
    await new Promise<void>((resolve) => refusing.close(() => resolve()))
  }
})

test('if sign-up is by invitation, a token allows it', async () => {
  await using server = await testServer({ environment: { UK_SIGN_UP: 'invite' } })
  const alice = await server.person('Alice')
  const { at } = await workspaceOf(alice)
  const { token } = (await alice.post(`${at}/invitations`, { email: 'bob@example.com' })).body.data
  const body = { email: 'bob@example.com', password: 'a long password', name: 'Bob' }
  const signUp = (more: object) => server.stranger.post('/auth/sign-up', { ...body, ...more }, { 'x-uk-csrf': '1' })
  assert.deepEqual(code(await signUp({})), [403, 'policy_denied'])
  const mallory = { email: 'mallory@example.com', invitation_token: token }
  assert.deepEqual(code(await signUp(mallory)), [403, 'policy_denied'], 'one invitation lets in whom it names')
  const signed = await signUp({ invitation_token: token })
  assert.equal(signed.status, 201)
  const cookie = signed.headers.get('set-cookie')!.split(';')[0]!
  const accepted = await server.stranger.post('/invitations/accept', { token }, { cookie, 'x-uk-csrf': '1' })
  assert.equal(accepted.status, 200)
})

/** A real mail server on this machine that keeps what it gets. */
async function postOffice() {
  const mails: { to: string[]; from: string; text: string }[] = []
  let arrived = () => {}
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, { envelope }, done) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        mails.push({ to: envelope.rcptTo.map(({ address }) => address), from, text: Buffer.concat(parts).toString() })
        arrived()
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    async next() {
      while (mails.length === 0) await new Promise<void>((resolve) => (arrived = resolve))
      return mails.shift()!
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

/** The database holds the token nowhere in the clear. */
async function noTokenKept(server: TestServer, token: string) {
  const { pool } = server.app.engine.postgres
  const { rows: columns } = await pool.query<{ place: string; name: string; column: string }>(
    `select format('%I.%I', table_schema, table_name) as place, column_name as column from information_schema.columns
     where table_schema in ('public', 'graphile_worker') and data_type in ('text', 'json', 'jsonb')
       and table_name in (select table_name from information_schema.tables where table_type = 'BASE TABLE')`,
  )
  assert.ok(columns.length > 10)
  for (const { place, column } of columns) {
    const { rows } = await pool.query(`select 1 from ${place} where "${column}"::text like $1`, [`%${token}%`])
    assert.equal(rows.length, 0, `${place}.${column} holds the token`)
  }
}
