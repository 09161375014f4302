import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { until } from '../../../until.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Json, Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let openai: Vendor
let anthropic: Vendor
before(async () => {
  openai = await startOpenAI()
  anthropic = await startAnthropic()
  world = await gatewayWorld()
  const modelFacts = { capabilities: ['tools', 'reasoning'] }
  const shape = 'anthropic-messages'
  await world.bring(openai, 'oa', { models: [pricedModel('gpt-4o', modelFacts)] })
  await world.bring(openai, 'rs', { shape: 'openai-responses', models: [pricedModel('gpt-4o', modelFacts)] })
  await world.bring(anthropic, 'an', {
    shape,
    base_url: anthropic.origin,
    models: [pricedModel('claude-sonnet-5-5', modelFacts)],
  })
})
after(async () => {
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
  await anthropic[Symbol.asyncDispose]()
})

const turns = [
  {
    reply: {
      reasoning: 'Kyoto first.',
      text: 'Let me look.',
      tools: [{ id: 'toolu_1', name: 'weather', arguments: { city: 'Kyoto' } }],
    },
  },
  { reply: { tools: [{ id: 'toolu_2', name: 'weather', arguments: { city: 'Nara' } }] } },
  { reply: 'Both are sunny.' },
]
const weather = tool({
  inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
  execute: async ({ city }) => `sunny in ${city}`,
})
const rows = () =>
  world.server.app.engine.postgres.pool.query<{ id: string; sealed: string }>('select * from kept_items')

test('the AI SDK refers to earlier items, as it does by default, and the model receives the whole conversation', async () => {
  const provider = createOpenAI({ apiKey: world.key.key, baseURL: `${world.server.origin}/compat-a/v1` })
  for (const model of ['an/claude-sonnet-5-5', 'oa/gpt-4o', 'rs/gpt-4o'])
    for (const streams of [false, true]) {
      const vendor = model.startsWith('an/') ? anthropic : openai
      vendor.script(...turns)
      const params = {
        model: provider(model),
        prompt: 'Weather in Kyoto and Nara?',
        tools: { weather },
        stopWhen: stepCountIs(5),
      }
      const text = streams ? await streamText(params).text : (await generateText(params)).text
      assert.equal(text, 'Both are sunny.', `${model} ${streams}`)
      assert.match(
        JSON.stringify(vendor.requests.at(-1)!.seen?.messages ?? vendor.requests.at(-1)!.json()),
        /Let me look.*Kyoto.*sunny in Kyoto.*Nara.*sunny in Nara/,
      )
    }
  const { rows: storedRows } = await rows()
  assert.ok(storedRows.length >= 6)
  assert.doesNotMatch(JSON.stringify(storedRows), /Kyoto|sunny|look/, 'what is kept is sealed')
})

const ask = (body: Json, key = world.key) =>
  key.post('/compat-a/v1/responses', { model: 'an/claude-sonnet-5-5', input: 'hi', ...body })
const naming = (id: string) => ({
  input: [...userMessages('hi'), { type: 'item_reference', id }, ...userMessages('again')],
})
const itemOf = async (body: Json = {}) => (await ask(body)).body.output.at(-1).id as string

test('an item belongs to its account only, for a day, and only if storing wasn’t refused', async () => {
  anthropic.script({ reply: 'the secret word' })
  const id = await itemOf()
  const again = await ask(naming(id))
  assert.equal(again.status, 200, again.text)
  assert.match(anthropic.requests.at(-1)!.body.toString(), /the secret word/)
  const countResponse = await world.key.post('/compat-a/v1/responses/input_tokens', {
    model: 'an/claude-sonnet-5-5',
    ...naming(id),
  })
  assert.equal(countResponse.status, 200, countResponse.text)

  const refusalFor = async (name: string, key = world.key) => {
    const before = anthropic.requests.length
    const { status, body } = await ask(naming(name), key)
    assert.deepEqual([status, body.error.param], [404, 'input.1'])
    assert.match(body.error.message, /store: false/)
    assert.equal(anthropic.requests.length, before, 'nothing is spent')
  }
  const eve = await world.server.person('Eve')
  const theirs = await eve.key()
  assert.equal((await ask(naming(id), theirs)).status, 404, 'a stranger has neither the model nor the item')
  const shape = 'anthropic-messages'
  const models = [pricedModel('claude-sonnet-5-5')]
  const body = { name: 'an', slug: 'an', shape, base_url: anthropic.origin, api_key: anthropic.key, models }
  assert.equal((await eve.post('/ai-gateway/provider-endpoints', body)).status, 201)
  await refusalFor(id, theirs)
  await refusalFor('msg_01KAJ8R3T2M6QK5W9V0XBZC4DE0000')

  const { rowCount } = await rows()
  await refusalFor(await itemOf({ store: false }))
  assert.equal((await rows()).rowCount, rowCount, 'nothing is kept of it')
  const { pool } = world.server.app.engine.postgres
  await pool.query(`update kept_items set created_at = now() - interval '25 hours' where id = $1`, [id])
  await refusalFor(id)
})

test('a key of one workspace refers to that workspace’s items only; its account’s own key to all', async () => {
  const { person } = world
  const team = (await person.post('/workspaces', { name: 'Team' })).body.data.id as string
  const [here, there] = [
    await person.key({ workspace_id: team }),
    await person.key({ workspace_id: person.workspaceId }),
  ]
  const more = { shape: 'anthropic-messages', base_url: anthropic.origin, instance: true }
  await world.bring(anthropic, 'all', { ...more, models: [pricedModel('claude-sonnet-5-5')] })
  const model = 'all/claude-sonnet-5-5'
  anthropic.script({ reply: 'said in the team' })
  const answer = await ask({ model }, here)
  assert.equal(answer.status, 200, answer.text)
  const id = answer.body.output.at(-1).id as string
  const statusFor = async (name: string, key = world.key) => (await ask({ model, ...naming(name) }, key)).status
  assert.deepEqual([await statusFor(id, here), await statusFor(id, there), await statusFor(id)], [200, 404, 200])
  assert.deepEqual([await statusFor(await itemOf(), here), await statusFor(await itemOf())], [404, 200])
})

test('storage per account is limited: the oldest items go first, and oversized ones aren’t stored', async () => {
  const { pool } = world.server.app.engine.postgres
  const first = await itemOf()
  await pool.query(`update kept_items set created_at = now() - interval '1 hour' where id = $1`, [first])
  await pool.query(
    `insert into kept_items (id, account_id, sealed, bytes) select 'filler_' || n, account_id, sealed, bytes from kept_items, generate_series(1, 10000) n
     where id = $1`,
    [first],
  )
  const last = await itemOf()
  const { rows: remainingRows } = await rows()
  assert.equal(remainingRows.length, 10_000)
  assert.ok(!remainingRows.some(({ id }) => id === first))
  assert.ok(remainingRows.some(({ id }) => id === last))
  anthropic.script({ reply: 'x'.repeat((1 << 20) + 1) })
  const large = await itemOf()
  assert.ok(!(await rows()).rows.some(({ id }) => id === large))
})

test('an item can be referenced once per request: many references to a large one would fill the memory', async () => {
  anthropic.script({ reply: 'word '.repeat(20_000) })
  const id = await itemOf()
  const before = anthropic.requests.length
  const many = await ask({ input: Array.from({ length: 4_000 }, () => ({ type: 'item_reference', id })) })
  assert.deepEqual([many.status, many.body.error.param], [400, 'input.1'])
  assert.match(many.body.error.message, /Duplicate item/)
  assert.equal(anthropic.requests.length, before)
})

test('an item that a process can’t decrypt counts as not stored', async () => {
  const id = await itemOf()
  const { pool } = world.server.app.engine.postgres
  await pool.query(
    `update kept_items set sealed = 'v1:unknown1:' || split_part(sealed, ':', 3) || ':' || split_part(sealed, ':', 4) where id = $1`,
    [id],
  )
  const answer = await ask(naming(id))
  assert.equal(answer.status, 404, answer.text)
})

test('a client that disconnects during storage or lookup is counted once, and no provider is called for it', async () => {
  const { app, origin } = world.server
  const id = await itemOf()
  const callCounts = async () => {
    const text = await (await fetch(`${origin}/metrics`)).text()
    const counts = text.matchAll(/^uk_gateway_calls_total\{.*\} (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }
  const connection = await app.engine.postgres.pool.connect()
  const leave = async (body: Json, waitUntilSeen: () => Promise<unknown>) => {
    await connection.query('begin')
    await connection.query('lock table kept_items in access exclusive mode')
    const leaving = new AbortController()
    const request = fetch(`${origin}/compat-a/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.key.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'an/claude-sonnet-5-5', input: 'hi', ...body }),
      signal: leaving.signal,
    }).catch(() => null)
    // The cleanup of old items may wait as well.
    const waiting = () =>
      app.engine.postgres.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
         and query like '%kept_items%' and query not like 'delete%'`,
      )
    await until(waiting, ({ rowCount }) => rowCount === 1)
    leaving.abort()
    await request
    await waitUntilSeen()
    await connection.query('commit')
  }
  try {
    const calls = (await world.calls()).length
    const requestCount = anthropic.requests.length
    const countsBefore = await callCounts()
    await leave({}, () => until(world.calls, ([last]) => last!.status === 'cancelled'))
    // Answering on another connection afterwards ensures that the closed one was noticed.
    await leave(naming(id), async () => void (await fetch(`${origin}/healthz`), await fetch(`${origin}/healthz`)))
    await until(
      () => ask(naming(id)),
      ({ status }) => status === 200,
    )
    assert.equal(await callCounts(), countsBefore + 2)
    assert.equal((await world.calls()).length, calls + 2)
    assert.equal(anthropic.requests.length, requestCount + 2, 'for who had left nobody was asked')
  } finally {
    connection.release()
  }
})
