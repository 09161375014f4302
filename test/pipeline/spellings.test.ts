// Thorough: run by the merge check, or by name.
/** Every secret and signature is tried in all other spellings of the same bytes: only the issued text is accepted. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { make } from '../automations/hooks.ts'
import { signed } from '../automations/senders.ts'
import { mailbox } from '../outside/mailbox.ts'
import { type Answer, type Person, type TestServer, caller, testServer } from '../server.ts'

interface VerificationCase {
  given: string
  /** Header values have no surrounding space, so there is nothing to refuse. */
  inHeader?: true
  ask(text: string): Promise<Answer>
}

let server: TestServer
let alice: Person
let bob: Person
let mail: Awaited<ReturnType<typeof mailbox>>
before(async () => {
  mail = await mailbox()
  const limits = Object.fromEntries(['READS', 'WRITES', 'INFERENCE'].map((name) => [`UK_LIMIT_${name}`, '0']))
  server = await testServer({ environment: { ...limits, UK_SIGN_UP: 'open' } })
  alice = await server.person('Alice')
  bob = await server.person('Bob')
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await mail[Symbol.asyncDispose]()
})

const team = async (): Promise<string> => (await alice.post('/workspaces', { name: 'Team' })).body.data.id

const cases: Record<string, () => Promise<VerificationCase>> = {
  async 'the signature of a link to a file'() {
    const about = { workspace_id: alice.workspaceId, name: `${Math.random()}.txt`, content: 'hello' }
    const { id } = (await alice.post('/drive/files', about)).body.data
    const { url } = (await alice.post(`/drive/files/${id}/signed-url`, {})).body.data
    const link = new URL(url)
    return {
      given: link.searchParams.get('signature')!,
      ask(text) {
        link.searchParams.set('signature', text)
        return server.stranger.get(link.pathname + link.search)
      },
    }
  },
  async 'when a link ends'() {
    const about = { workspace_id: alice.workspaceId, name: `${Math.random()}.txt`, content: 'hello' }
    const { id } = (await alice.post('/drive/files', about)).body.data
    const link = new URL((await alice.post(`/drive/files/${id}/signed-url`, {})).body.data.url)
    return {
      given: link.searchParams.get('expires')!,
      ask(text) {
        link.searchParams.set('expires', text)
        return server.stranger.get(link.pathname + link.search)
      },
    }
  },
  async 'the signature of a webhook'() {
    const hook = await make(alice)
    const headers = signed(hook, 'one', '{}')
    return {
      given: headers['webhook-signature']!.slice(3),
      inHeader: true,
      ask: (text) =>
        server.stranger.request(
          'POST',
          `/automations/${hook.id}/fire`,
          {},
          {
            ...headers,
            'webhook-signature': `v1,${text}`,
          },
        ),
    }
  },
  async 'the token of a webhook'() {
    const { id, token } = await make(alice)
    return {
      given: token,
      inHeader: true,
      ask: (text) =>
        server.stranger.request('POST', `/automations/${id}/fire`, {}, { authorization: `Bearer ${text}` }),
    }
  },
  async 'an API key'() {
    const { key } = await alice.key()
    return {
      given: key,
      inHeader: true,
      ask: (text) => server.stranger.get('/me', { authorization: `Bearer ${text}` }),
    }
  },
  async 'an API key in x-api-key'() {
    const { key } = await alice.key()
    return { given: key, inHeader: true, ask: (text) => server.stranger.get('/me', { 'x-api-key': text }) }
  },
  async 'a session'() {
    const [name, token] = alice.headers.cookie!.split('=', 2)
    return {
      given: token!,
      inHeader: true,
      ask: (text) => caller(server.origin, { cookie: `${name}=${text}` }).get('/me'),
    }
  },
  async 'the token of an invitation'() {
    const at = `/workspaces/${await team()}/invitations`
    const { token } = (await alice.post(at, { email: bob.email })).body.data
    return { given: token, ask: (text) => bob.post('/invitations/accept', { token: text }) }
  },
  async 'the token of a share'() {
    const { id } = (await alice.post('/chats', {})).body.data
    const share = { resource_type: 'chat', resource_id: id, grantee: { email: 'carol@example.com' } }
    const { token } = (await alice.post('/shares', share)).body.data
    return { given: token, ask: (text) => bob.post('/invitations/accept', { token: text }) }
  },
  async 'the token of an invitation at sign-up'() {
    const at = `/workspaces/${await team()}/invitations`
    const email = `guest.${Math.random()}@example.com`
    const { token } = (await alice.post(at, { email })).body.data
    const inviteServer = await server.twin({ UK_SIGN_UP: 'invite' })
    after(() => inviteServer[Symbol.asyncDispose]())
    return {
      given: token,
      ask: (text) =>
        inviteServer.stranger.post(
          '/auth/sign-up',
          { email, name: 'Guest', password: 'a long password', invitation_token: text },
          { 'x-uk-csrf': '1' },
        ),
    }
  },
  async 'the token that confirms an address'() {
    // A separate instance, because any process of an instance sends queued email.
    const mailing = await testServer({ environment: { UK_LIMIT_WRITES: '0', SMTP_URL: mail.url } })
    after(() => mailing[Symbol.asyncDispose]())
    const there = await mailing.person('Carol')
    assert.equal((await there.post('/notifications/request-email')).status, 200)
    const token = /\d{10}-[\w-]{43}/.exec(await mail.next())![0]
    return { given: token, ask: (text) => there.post('/notifications/confirm-email', { token: text }) }
  },
}

const base64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** Spellings a lenient parser of base64, base64url, hex, numbers, or lines would accept. */
function spellings(text: string, inHeader: boolean): string[] {
  const bare = text.replace(/=+$/, '')
  const last = [...`${base64}-_+/`].map((end) => bare.slice(0, -1) + end)
  const middle = text.length >> 1
  const splitText = (by: string): string => text.slice(0, middle) + by + text.slice(middle)
  const all = [
    bare,
    ...['=', '==', '===', '.', '%3D', '&'].map((more) => bare + more),
    ...last.flatMap((each) => [each, text.replace(bare, each)]),
    text.replaceAll('-', '+').replaceAll('_', '/'),
    text.replaceAll('+', '-').replaceAll('/', '_'),
    text.toUpperCase(),
    text.toLowerCase(),
    Buffer.from(bare, 'base64').toString('hex'),
    splitText(' '),
    splitText('='),
    `"${text}"`,
    `0${text}`,
    `+${text}`,
    `${text}.0`,
    `${text}e0`,
    ...(inHeader
      ? []
      : [' ', '\n', '\r\n', '\t', '\u00A0'].flatMap((space) => [text + space, space + text, splitText(space)])),
  ]
  return [...new Set(all)].filter((each) => each !== text)
}

let askCount = 0
for (const [title, arrange] of Object.entries(cases))
  test(`${title} is accepted only in its issued spelling`, async () => {
    const { given, inHeader = false, ask } = await arrange()
    const acceptedSpellings: string[] = []
    for (const text of spellings(given, inHeader)) {
      askCount += 1
      const { status } = await ask(text)
      if (status < 400) acceptedSpellings.push(text)
      else assert.ok(status < 500, `${status} for ${JSON.stringify(text)}`)
    }
    assert.deepEqual(acceptedSpellings, [])
    assert.ok((await ask(given)).status < 300)
  })
after(() => console.log(`${askCount} spellings`))
