import assert from 'node:assert/strict'
import dns from 'node:dns'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { after, before, test } from 'node:test'
import { type Person, type TestServer, testServer } from '#test/server.ts'

// The server at 127.0.0.1 must never be reached; 127.0.0.2 is listed and stands for the world outside.
let port: number
let reached = 0
let allowed: ReturnType<typeof createServer>
const forbidden: net.Server[] = []
let server: TestServer
let person: Person
let answered = 0
let redirect: string | null = null

const realLookup = dns.lookup
/** The addresses that names of the tests lead to now. */
const names = new Map<string, string[]>()

before(async () => {
  allowed = createServer((request, response) => {
    answered++
    request.resume()
    if (redirect !== null) return void response.writeHead(307, { location: redirect }).end()
    const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'hi' } }]
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    response.writeHead(200, { 'content-type': 'application/json', connection: 'close' })
    response.end(
      JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, usage, data: [] }),
    )
  })
  allowed.listen(0, '127.0.0.2')
  await once(allowed, 'listening')
  port = (allowed.address() as net.AddressInfo).port
  for (const host of ['127.0.0.1', '::1', '127.0.0.3']) {
    const trap = net.createServer((socket) => {
      reached++
      socket.destroy()
    })
    trap.listen(port, host)
    const [event] = await Promise.race([
      once(trap, 'listening').then(() => ['listening']),
      once(trap, 'error').then(() => ['error']),
    ])
    // A machine without IPv6 has one trap less.
    if (event === 'listening') forbidden.push(trap)
  }
  const fake = (host: string, options: unknown, done: (...answer: unknown[]) => void): void => {
    const found = names.get(host)
    if (found === undefined) return (realLookup as (...all: unknown[]) => void)(host, options, done)
    const all = found.map((address) => ({ address, family: net.isIP(address) }))
    process.nextTick(() =>
      (options as { all?: boolean }).all ? done(null, all) : done(null, all[0]!.address, all[0]!.family),
    )
  }
  dns.lookup = fake as typeof dns.lookup
  syncBuiltinESMExports()
  server = await testServer({
    environment: {
      UK_UPSTREAM_ALLOW: `127.0.0.2:${port}`,
      UK_FETCH_ALLOW: `127.0.0.2:${port}`,
      UK_LIMIT_INFERENCE: '0',
    },
  })
  await server.person('Admin')
  person = await server.person('Mallory')
})
after(async () => {
  dns.lookup = realLookup
  syncBuiltinESMExports()
  await server[Symbol.asyncDispose]()
  for (const trap of forbidden) trap.close()
  allowed.closeAllConnections()
  allowed.close()
})

let made = 0
/** Everything that a user can make the gateway do with an address: add, test, list, call in each surface, change. */
async function tryAll(base: string, path = '/v1'): Promise<number[]> {
  const slug = `s${made++}`
  const shape = (['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini', 'ollama'] as const)[made % 5]!
  const endpoint = { slug, name: slug, shape, base_url: base + path, api_key: 'sk-0123456789' }
  const created = await person.post('/ai-gateway/provider-endpoints', { ...endpoint, models: [{ id: 'm' }] })
  if (created.status !== 201) {
    assert.equal(created.status < 500, true, created.text)
    return [created.status]
  }
  const { id } = created.body.data
  const messages = [{ role: 'user', content: 'x' }]
  const key = await person.key()
  const answers = [
    await person.post(`/ai-gateway/provider-endpoints/${id}/test`),
    await key.post('/compat-a/v1/chat/completions', { model: `${slug}/m`, messages }),
    await key.post('/compat-a/v1/chat/completions', { model: `${slug}/m`, messages, stream: true }),
    await key.post('/compat-b/v1/messages', { model: `${slug}/m`, max_tokens: 9, messages }),
    await key.post('/inference/text', { model: `${slug}/m`, messages }),
  ]
  await person.patch(`/ai-gateway/provider-endpoints/${id}`, { models: [] })
  answers.push(await person.get('/models?limit=100'))
  await person.delete(`/ai-gateway/provider-endpoints/${id}`)
  await person.delete(`/api-keys/${key.keyId}`)
  return answers.map(({ status }) => status)
}

test('private addresses in any notation are rejected', async () => {
  const hosts = [
    '127.0.0.1 127.1 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.0.0.3 0.0.0.0 0 localhost LOCALHOST localhost.',
    '[::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001] [::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::]',
    '①②⑦.⓪.⓪.① 127。0。0。1',
  ].flatMap((line) => line.split(' '))
  for (const host of hosts) await tryAll(`http://${host}:${port}`)
  assert.equal(reached, 0)
})

test('names that resolve to private addresses are rejected, also after a change between two calls; of several addresses only public ones are tried', async () => {
  names.set('inside.test', ['127.0.0.1'])
  names.set('mapped.test', ['::ffff:127.0.0.1'])
  names.set('both.test', ['127.0.0.2', '127.0.0.1'])
  names.set('six.test', ['::1'])
  for (const name of ['inside.test', 'mapped.test', 'both.test', 'six.test']) await tryAll(`http://${name}:${port}`)
  assert.equal(reached, 0)

  names.set('turns.test', ['127.0.0.2'])
  const endpoint = { slug: 'turns', name: 't', shape: 'openai-chat', api_key: 'sk-0123456789', models: [{ id: 'm' }] }
  await person.post('/ai-gateway/provider-endpoints', { ...endpoint, base_url: `http://turns.test:${port}/v1` })
  const key = await person.key()
  const ask = () =>
    key.post('/compat-a/v1/chat/completions', { model: 'turns/m', messages: [{ role: 'user', content: 'x' }] })
  const first = await ask()
  assert.equal(first.status, 200, first.text)
  for (let i = 0; i < 5; i++) {
    names.set('turns.test', ['127.0.0.1'])
    const turned = await ask()
    assert.ok(turned.status >= 500, turned.text)
    names.set('turns.test', ['::ffff:127.0.0.1', '127.0.0.2'])
    // Of several addresses it is the permitted one that is connected to.
    assert.equal((await ask()).status, 200)
  }
  assert.equal(reached, 0)
})

test('redirects to private addresses are never followed, by providers or by fetching pages', async () => {
  names.set('outside.test', ['127.0.0.2'])
  for (const inside of [`http://127.0.0.1:${port}/`, `http://[::1]:${port}/`, `http://inside.test:${port}/v1/models`]) {
    redirect = inside
    const before = answered
    await tryAll(`http://outside.test:${port}`)
    assert.ok(answered > before)
    const fetched = await person.post('/web/fetch', { url: `http://outside.test:${port}/` })
    assert.ok(fetched.status >= 400, fetched.text)
  }
  redirect = null
  for (const host of ['127.0.0.1', '[::ffff:7f00:1]', 'inside.test', '2130706433'])
    assert.ok((await person.post('/web/fetch', { url: `http://${host}:${port}/` })).status >= 400)
  assert.equal(reached, 0)
})
