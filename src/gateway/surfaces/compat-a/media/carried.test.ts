import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { after, before, beforeEach, test } from 'node:test'
import { addEndpoint, studioServer } from '#test/media/studio.ts'
import { type Got, SECRET, json, vendorAt } from '#test/media/wire.ts'
import type { Person, TestServer } from '#test/server.ts'
import { until } from '#test/until.ts'
import { wav } from '#test/vendors/media/made/sound.ts'
import * as openai from '#test/vendors/media/openai/rules.ts'
import type { Rule } from '#test/vendors/rules.ts'

let server: TestServer
let alice: Person
/** Pays with credits. */
let bob: Person
let vendor: Awaited<ReturnType<typeof vendorAt>>
let answer: (request: Got, response: ServerResponse) => void
const usual: typeof answer = ({ path }, response) => {
  if (path.endsWith('/speech')) return void response.writeHead(200, { 'content-type': 'audio/mpeg' }).end('sound')
  json(response, path.includes('/audio/') ? { text: 'Hi.' } : { created: 1, data: [{ b64_json: 'AAAA' }] })
}

const models = [
  { id: 'draws', kind: 'image', pricing: { image: 40_000 } },
  { id: 'speaks', kind: 'speech', pricing: { character: 15 } },
  { id: 'hears', kind: 'transcription', pricing: { audio_second: 100 } },
]

before(async () => {
  vendor = await vendorAt((request, response) => answer(request, response))
  server = await studioServer()
  alice = await server.person('Alice')
  bob = await server.person('Bob')
  await addEndpoint(alice, 'own', { ...vendor, key: SECRET }, { models })
  await addEndpoint(alice, 'house', { ...vendor, key: SECRET }, { models, instance: true })
  await alice.post(`/admin/accounts/${bob.id}/credits`, { amount_usd: 100 })
})
beforeEach(() => {
  answer = usual
})
after(async () => {
  await server?.[Symbol.asyncDispose]()
  vendor?.[Symbol.dispose]()
})

type Fields = Record<string, unknown>

/** OpenAI's media routes, with the minimum that each requires. */
const routes: { path: string; rule: Rule; least: Fields; isForm?: true }[] = [
  { path: '/images/generations', rule: openai.generation, least: { model: 'draws', prompt: 'a fox' } },
  { path: '/images/edits', rule: openai.edit, least: { model: 'draws', prompt: 'a fox', image: 'PNG' }, isForm: true },
  { path: '/audio/speech', rule: openai.speech, least: { model: 'speaks', input: 'Hello', voice: 'alloy' } },
  {
    path: '/audio/transcriptions',
    rule: openai.transcription,
    least: { model: 'hears', file: wav(3, 8_000) },
    isForm: true,
  },
  {
    path: '/audio/translations',
    rule: openai.translation,
    least: { model: 'hears', file: wav(3, 8_000) },
    isForm: true,
  },
]

/** A valid value for a field; undefined: a file. */
function valueFor(name: string, rule: Rule): unknown {
  if (name === 'size') return '512x512'
  const kinds = [rule.kind].flat()
  if (kinds.includes('string')) return rule.values?.at(-1) ?? 'some words'
  if (kinds.includes('integer')) return Math.max(2, rule.min ?? 2)
  if (kinds.includes('number')) return rule.max ?? 0.5
  if (kinds.includes('boolean')) return true
  return kinds.includes('array') ? [rule.items?.values?.[0] ?? 'one', 'two'] : undefined
}

/** Fields that set the amount in units without a price: refused by name if money is reserved. */
const refusedFields = new Set(['frame_count'])

async function send(key: string, provider: string, { path, isForm }: (typeof routes)[number], fields: Fields) {
  const model = `${provider}/${String(fields['model'])}`
  const headers = { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) }
  const whole = { ...fields, model }
  const response = await fetch(`${server.origin}/compat-a/v1${path}`, {
    method: 'POST',
    headers,
    body: isForm ? formOf(whole) : JSON.stringify(whole),
  })
  const text = await response.text()
  return { status: response.status, text, losses: response.headers.get('x-uk-losses') }
}

function formOf(fields: Fields): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields))
    if (name === 'file' || name === 'image')
      form.set(name, new Blob([Buffer.from(value as string)]), name === 'file' ? 'talk.wav' : 'fox.png')
    else if (Array.isArray(value)) for (const one of value) form.append(`${name}[]`, String(one))
    else form.set(name, String(value))
  return form
}

/** The request as the vendor read it, whatever its boundary. */
async function readBy({ headers, body }: Got): Promise<unknown> {
  const type = headers['content-type']!
  if (type.startsWith('application/json')) return JSON.parse(body.toString())
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData()
  return Promise.all(
    [...form].map(async ([name, value]) => [name, typeof value === 'string' ? value : await value.text()]),
  )
}

for (const route of routes) {
  const fields = Object.entries((route.rule as { fields: Record<string, Rule> }).fields).flatMap(([name, rule]) => {
    const value = name in route.least ? undefined : valueFor(name, rule)
    return value === undefined ? [] : [[name, value] as const]
  })
  test(`each field of ${route.path} reaches the provider under a cap and on credits as it does without`, async () => {
    const free = (await alice.key()).key
    const cappedKey = (await alice.key({ spend_cap_usd: 50, spend_cap_period: 'total' })).key
    const credits = (await bob.key()).key
    const cases: (readonly [string, unknown])[] = [...fields, ['some_new_field', 'x']]
    for (const [name, value] of cases) {
      const body = { ...route.least, [name]: value }
      const plain = await send(free, 'own', route, body)
      assert.equal(plain.status, 200, plain.text)
      const receivedBody = await readBy(vendor.got.at(-1)!)
      for (const [key, provider] of [
        [cappedKey, 'own'],
        [credits, 'house'],
      ] as const) {
        const before = vendor.got.length
        const { status, text, losses } = await send(key, provider, route, body)
        if (refusedFields.has(name)) {
          assert.deepEqual([status, JSON.parse(text).error.param, vendor.got.length], [400, name, before], text)
          continue
        }
        assert.deepEqual([status, losses, vendor.got.length], [200, null, before + 1], `${name}: ${text}`)
        assert.deepEqual(await readBy(vendor.got.at(-1)!), receivedBody, name)
      }
    }
  })
}

test('fields that set the amount are refused by name if money is reserved, and change nothing otherwise', async () => {
  const cappedKey = await alice.key({ spend_cap_usd: 50, spend_cap_period: 'total' })
  const cases: [path: string, name: string, value: unknown][] = [
    ['/images/generations', 'num_images', 9],
    ['/images/edits', 'batch_size', 9],
    ['/audio/speech', 'ssml', '<speak>long</speak>'],
    ['/audio/transcriptions', 'url', 'https://example.com/long.wav'],
    ['/audio/translations', 'audio_url', 'https://example.com/long.wav'],
  ]
  for (const [path, name, value] of cases) {
    const route = routes.find((one) => one.path === path)!
    const before = vendor.got.length
    const response = await send(cappedKey.key, 'own', route, { ...route.least, [name]: value })
    assert.deepEqual([response.status, JSON.parse(response.text).error.param], [400, name], response.text)
    assert.equal(vendor.got.length, before)
  }
  const nothing = await send(cappedKey.key, 'own', routes[3]!, { model: 'hears' })
  assert.deepEqual([nothing.status, JSON.parse(nothing.text).error.param], [400, 'file'])
})

/** Returns the attempts of this key's only call, once they are in the ledger. */
async function ledgerEntries(keyId: string): Promise<string> {
  const { pool } = server.app.engine.postgres
  const { rows } = await until(
    async () => {
      await server.app.engine.ledger.flush()
      return pool.query('select status, cost_nano, cost_source from calls where key_id = $1', [keyId])
    },
    ({ rows: entries }) => entries.length > 0,
  )
  const words = (name: string) => [...new Set(rows.map((row) => row[name] as string))].join(', ')
  const cost = rows.reduce((sum, row) => sum + BigInt(row.cost_nano), 0n)
  return `${words('status')} ${cost} ${words('cost_source')}`
}

test('a translation under a cap costs the length of its audio', async () => {
  const { key, keyId } = await alice.key({ spend_cap_usd: 50, spend_cap_period: 'total' })
  const { status, text } = await send(key, 'own', routes[4]!, routes[4]!.least)
  assert.equal(status, 200, text)
  assert.equal(await ledgerEntries(keyId), 'succeeded 300000 computed')
})

test('possible results are charged at the reservation, and refused requests cost nothing', async () => {
  const speech = routes[2]!
  const ends: [string, (response: ServerResponse, leave: () => void) => void, string][] = [
    ['refuses', (response) => json(response, { error: { message: 'No.' } }, 400), 'failed 0 computed'],
    ['breaks', (response) => json(response, { error: { message: 'Broken.' } }, 500), 'failed 0 computed'],
    ['hangs up before it answers', (response) => response.destroy(), 'failed 75000 estimated'],
    ['is behind a proxy that gives up', (response) => void response.writeHead(504).end(), 'failed 75000 estimated'],
    [
      'hangs up in the middle',
      (response) => {
        response.writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': '100' }).write('half')
        void once(response, 'close')
        setImmediate(() => response.destroy())
      },
      'failed 75000 estimated',
    ],
    ['is left before it answers', (_, leave) => leave(), 'cancelled 75000 estimated'],
  ]
  for (const [title, end, expectedCost] of ends) {
    const { key, keyId } = await alice.key({ spend_cap_usd: 50, spend_cap_period: 'total' })
    const leaving = new AbortController()
    answer = (_, response) => end(response, () => leaving.abort())
    await fetch(`${server.origin}/compat-a/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...speech.least, model: 'own/speaks' }),
      signal: leaving.signal,
    })
      .then((response) => response.arrayBuffer())
      .catch(() => null)
    assert.equal(await ledgerEntries(keyId), expectedCost, title)
  }
})
