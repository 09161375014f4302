import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import type { Log } from '#infra/log.ts'
import { testServer } from '#test/server.ts'
import { startAnthropic } from '../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../vendors/openai/openai.ts'
import type { Vendor } from '#test/vendors/vendor.ts'
import { pricedModel, userMessages } from './gateway/world.ts'

/** Everything that is logged at any level, without the redaction by field names: a secret must not come so far. */
function listeningLog(): { log: Log; lines: string[] } {
  const lines: string[] = []
  const serializers = { error: pino.stdSerializers.err, err: pino.stdSerializers.err }
  return {
    log: pino({ level: 'trace', base: null, serializers }, { write: (line: string) => void lines.push(line) }),
    lines,
  }
}

test('keys are never in logs, errors, answers, the database or another provider’s request', async () => {
  const { log, lines } = listeningLog()
  await using openai: Vendor = await startOpenAI({ key: 'sk-canary-of-openai-0123456789' })
  await using anthropic: Vendor = await startAnthropic({ key: 'sk-ant-canary-of-anthropic-0123456789' })
  await using instance: Vendor = await startOpenAI({ key: 'sk-canary-of-the-instance-0123456789' })
  await using server = await testServer({
    log,
    environment: {
      UK_UPSTREAM_ALLOW: '127.0.0.0/8',
      OPENAI_API_KEY: instance.key,
      OPENAI_BASE_URL: `${instance.origin}/v1`,
    },
  })
  const alice = await server.person('Alice')
  const bob = await server.person('Bob')
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 5 })
  const key = await bob.key({ spend_cap_usd: 1 })
  const header = 'canary-in-a-header-0123456789'
  const answers: string[] = []
  const told = async (answer: Promise<{ text: string; headers: Headers; status: number }>): Promise<void> => {
    const { text, headers } = await answer
    answers.push(text, JSON.stringify([...headers]))
  }
  const at = '/ai-gateway/provider-endpoints'
  const add = async (vendor: Vendor, slug: string, more: object = {}) => {
    const body = { slug, name: slug, shape: 'openai-chat', base_url: `${vendor.origin}/v1`, api_key: vendor.key }
    const made = await bob.post(at, { ...body, ...more })
    assert.equal(made.status, 201, made.text)
    answers.push(made.text)
    return made.body.data.id as string
  }
  const models = [pricedModel('gpt-4o')]
  const oa = await add(openai, 'oa', { models, headers: { 'x-team': header } })
  await add(openai, 'rs', { models, shape: 'openai-responses' })
  const an = await add(anthropic, 'an', {
    shape: 'anthropic-messages',
    base_url: anthropic.origin,
    models: [pricedModel('claude-haiku-4-5')],
  })
  // A key that the vendor refuses, and one at an address where nobody answers.
  const wrong = 'sk-canary-that-is-wrong-0123456789'
  const bad = await add(openai, 'bad', { models, api_key: wrong })
  const dead = await add(openai, 'dead', { models, base_url: 'http://127.0.0.1:9/v1', api_key: wrong })

  const secrets = [openai.key, anthropic.key, instance.key, wrong, header, key.key, alice.password, bob.password]
  secrets.push(String(bob.headers['cookie']).split('=')[1]!)

  const messages = userMessages('hello')
  const ways: [string, object][] = [
    ['/compat-a/v1/chat/completions', {}],
    ['/compat-a/v1/chat/completions', { stream: true }],
    ['/compat-b/v1/messages', { max_tokens: 50 }],
    ['/compat-b/v1/messages', { max_tokens: 50, stream: true }],
    ['/compat-c/v1/chat/completions', { stream: true, provider: { allow_fallbacks: true } }],
    ['/inference/text', {}],
  ]
  const names = [
    'oa/gpt-4o',
    'rs/gpt-4o',
    'an/claude-haiku-4-5',
    'bad/gpt-4o',
    'dead/gpt-4o',
    'openai/gpt-4o',
    'gpt-4o',
  ]
  // A vendor that repeats what it was sent, as a refusal and as a fault.
  const repeated = (model: string): string =>
    `the key ${openai.key}${model.startsWith('oa/') ? ` with ${header}` : ''} is not ${wrong} nor ${anthropic.key}`
  for (const [i, model] of names.entries())
    for (const [j, [path, more]] of ways.entries()) {
      if ((model.startsWith('dead') || model.startsWith('bad')) && j % 3 !== i % 3) continue
      await told(key.post(path, { model, messages, ...more }))
      if (j % 3 !== i % 3) continue
      for (const status of [401, 400]) {
        for (const vendor of [openai, anthropic, instance]) vendor.script({ status, message: repeated(model) })
        await told(key.post(path, { model, messages, ...more }))
        for (const vendor of [openai, anthropic, instance]) while (vendor.pending() > 0) await drain(vendor)
      }
    }
  for (const id of [oa, an, bad, dead]) {
    await told(bob.post(`${at}/${id}/test`))
    await told(bob.get(`${at}/${id}`))
    await told(bob.patch(`${at}/${id}`, { base_url: 'not an address', api_key: `${wrong} with a space` }))
  }
  await told(bob.post('/api-keys', { name: 'x', scopes: ['no such scope', key.key] }))
  await told(bob.request('POST', '/auth/sign-in', { email: bob.email, password: `${bob.password}!` }))
  // A caller who pastes a key for a name is shown their own words, but nobody keeps them.
  await key.get(`/models/${key.key}`)
  await told(server.stranger.get('/me', { authorization: `Bearer ${key.key}x` }))
  await told(server.stranger.get('/me', { authorization: `Bearer ${key.key}`, 'x-api-key': wrong }))
  await told(key.post('/compat-a/v1/chat/completions', '{"model":'))
  await told(bob.get('/api-keys'))
  await told(bob.get('/me/usage?view=history'))
  await told(bob.get('/ai-gateway/usage'))
  await server.app.engine.ledger.flush()

  const { pool } = server.app.engine.postgres
  const tables = await pool.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema in ('public', 'graphile_worker')
      and table_type = 'BASE TABLE'`,
  )
  const stored: string[] = []
  for (const { name } of tables.rows) {
    const place = await pool.query<{ schema: string }>(
      'select table_schema as schema from information_schema.tables where table_name = $1 limit 1',
      [name],
    )
    const { rows } = await pool.query<{ row: string }>(
      `select t::text as row from "${place.rows[0]!.schema}"."${name}" t`,
    )
    stored.push(...rows.map(({ row }) => `${name}: ${row}`))
  }
  assert.ok(stored.some((row) => row.startsWith('calls: ')) && lines.length > 0)
  for (const secret of secrets) {
    const hex = Buffer.from(secret).toString('hex')
    for (const row of stored)
      assert.ok(!row.includes(secret) && !row.includes(hex), `${secret} is stored in ${row.slice(0, 60)}`)
    for (const line of lines) assert.ok(!line.includes(secret), `${secret} is logged: ${line.slice(0, 300)}`)
    for (const text of answers) assert.ok(!text.includes(secret), `${secret} is answered: ${text.slice(0, 300)}`)
  }
  // To a vendor goes its own key and nobody else's.
  const own: [Vendor, string[]][] = [
    [openai, [openai.key, wrong, header]],
    [anthropic, [anthropic.key]],
    [instance, [instance.key]],
  ]
  for (const [vendor, allowed] of own) {
    assert.ok(vendor.requests.length > 0)
    for (const { path, headers, body } of vendor.requests) {
      const sent = `${path} ${JSON.stringify(headers)} ${body.toString()}`
      for (const secret of secrets)
        if (!allowed.includes(secret)) assert.ok(!sent.includes(secret), `${secret} was sent to ${vendor.key}`)
    }
  }
})

/** Uses up what is left scripted, so that the next round starts anew. */
async function drain(vendor: Vendor): Promise<void> {
  const path = vendor.key.startsWith('sk-ant') ? '/v1/messages' : '/v1/chat/completions'
  await fetch(vendor.origin + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${vendor.key}`, 'x-api-key': vendor.key },
    body: '{}',
  }).then((response) => response.arrayBuffer())
}
