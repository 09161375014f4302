import assert from 'node:assert/strict'
import { test } from 'node:test'
import { at } from '#test/endpoints/house.ts'
import { SECRET, json, vendorAt } from '#test/media/wire.ts'
import { testServer } from '#test/server.ts'

/** Vendors with their key header and their responses to authenticated requests, by method and path. */
const vendors = [
  {
    preset: 'elevenlabs',
    base: '/v1',
    header: ['xi-api-key', SECRET],
    answers: { 'GET /v1/models': [{ model_id: 'eleven_v3', name: 'Eleven v3', can_do_text_to_speech: true }] },
    models: ['eleven_v3'],
  },
  {
    preset: 'deepgram',
    base: '/v1',
    header: ['authorization', `Token ${SECRET}`],
    answers: {
      'GET /v1/projects': { projects: [] },
      'GET /v1/models': {
        stt: [{ name: 'nova-3', canonical_name: 'nova-3' }],
        tts: [{ name: 'thalia', canonical_name: 'aura-2-thalia-en' }],
      },
    },
    models: ['aura-2-thalia-en', 'nova-3'],
  },
  {
    preset: 'replicate',
    base: '/v1',
    header: ['authorization', `Bearer ${SECRET}`],
    answers: { 'GET /v1/account': { type: 'user', username: 'alice' } },
    models: null,
  },
  {
    preset: 'fal',
    base: '',
    header: ['authorization', `Key ${SECRET}`],
    answers: {},
    models: null,
  },
  {
    preset: 'black-forest-labs',
    base: '/v1',
    header: ['x-key', SECRET],
    answers: { 'GET /v1/credits': { credits: 12 } },
    models: null,
  },
  {
    preset: 'stability',
    base: '/v2beta',
    header: ['authorization', `Bearer ${SECRET}`],
    answers: { 'GET /v1/user/balance': { credits: 3 } },
    models: null,
  },
] as const

for (const { preset, base, header, answers, models } of vendors)
  test(`${preset} can be added with and without its preset; its key is tested, and it gets no chat requests`, async () => {
    using vendor = await vendorAt(({ method, path, headers }, response) => {
      if (headers[header[0]] !== header[1]) return json(response, { detail: 'Invalid credentials' }, 401)
      const answer = (answers as Record<string, unknown>)[`${method} ${path}`]
      if (answer === undefined) return json(response, { detail: 'Not found' }, 404)
      json(response, answer)
    })
    await using server = await testServer({ environment: { UK_UPSTREAM_ALLOW: '127.0.0.1' } })
    const alice = await server.person('Alice')
    const key = await alice.key()
    const place = { base_url: vendor.origin + base, api_key: SECRET }
    for (const more of [{ preset }, { shape: preset, slug: 'own', name: 'Own' }]) {
      const response = await alice.post(at, { ...place, ...more, models: [{ id: 'a/model' }] })
      assert.equal(response.status, 201, response.text)
      const { id, shape, slug } = response.body.data
      assert.equal(shape, preset)
      const testResult = (await alice.post(`${at}/${id}/test`)).body.data
      assert.deepEqual([testResult.ok, testResult.error, testResult.models_count], [true, null, 1])

      const chat = { model: `${slug}/a/model`, messages: [{ role: 'user', content: 'hello' }] }
      const before = vendor.got.length
      const refusal = await key.post('/compat-a/v1/chat/completions', chat)
      const native = await alice.post('/inference/text', chat)
      assert.deepEqual([refusal.status, native.status], [400, 400], refusal.text + native.text)
      assert.deepEqual([refusal.body.error.code, native.body.error.code], ['unsupported_model', 'unsupported_model'])
      assert.equal(vendor.got.length, before, 'nothing was sent')

      assert.equal((await alice.patch(`${at}/${id}`, { api_key: 'another-key' })).status, 200)
      const wrong = (await alice.post(`${at}/${id}/test`)).body.data
      assert.deepEqual([wrong.ok, /401/.test(wrong.error)], [false, true])
      assert.ok(!JSON.stringify(wrong).includes('another-key'))
    }
    if (models === null) return
    const presetResponse = await alice.post(at, { ...place, preset, slug: 'listed' })
    await alice.post(`${at}/${presetResponse.body.data.id}/test`)
    const slugs = (await alice.get('/audio/models?limit=100')).body.data.map(({ slug }: { slug: string }) => slug)
    for (const model of models) assert.ok(slugs.includes(`listed/${model}`), `${model} of ${slugs.join(', ')}`)
  })

test('a media vendor can’t be added without a key', async () => {
  await using server = await testServer()
  const alice = await server.person('Alice')
  const refusal = await alice.post(at, { preset: 'elevenlabs' })
  assert.deepEqual([refusal.status, refusal.body.error.param], [400, 'api_key'])
  assert.match(refusal.body.error.message, /`xi-api-key` in `headers`/)
})

const nowhere = { DEEPGRAM_BASE_URL: 'http://127.0.0.1:9/v1', BFL_BASE_URL: 'http://127.0.0.1:9/v1' }

test('a media vendor’s key in the environment adds an instance provider', async () => {
  await using server = await testServer({ environment: { DEEPGRAM_API_KEY: SECRET, BFL_API_KEY: SECRET, ...nowhere } })
  const alice = await server.person('Alice')
  const { data } = (await alice.get('/ai-gateway/providers?limit=100')).body
  const slugs = data.map(({ slug }: { slug: string }) => slug)
  assert.ok(slugs.includes('deepgram') && slugs.includes('black-forest-labs'), slugs.join(', '))
})
