import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { settingsNames } from '#gateway/call/money/cost-names.ts'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let openai: Vendor
let anthropic: Vendor

before(async () => {
  openai = await startOpenAI()
  anthropic = await startAnthropic()
  world = await gatewayWorld()
  await world.bring(openai, 'oa', { models: [pricedModel('gpt-4o')] })
  await world.bring(openai, 'house', { instance: true, models: [pricedModel('gpt-4o')] })
  await world.bring(anthropic, 'an', {
    shape: 'anthropic-messages',
    base_url: anthropic.origin,
    models: [pricedModel('claude-haiku-4-5')],
  })
})

after(async () => {
  await world[Symbol.asyncDispose]()
  await openai[Symbol.asyncDispose]()
  await anthropic[Symbol.asyncDispose]()
})

const posts = () => openai.requests.length + anthropic.requests.length

const chat = { model: 'oa/gpt-4o', messages: userMessages('hello') }
const surfaces: [path: string, body: object][] = [
  ['/compat-a/v1/chat/completions', chat],
  ['/compat-a/v1/responses', { model: 'oa/gpt-4o', input: 'hello' }],
  ['/compat-a/v1/responses/input_tokens', { model: 'oa/gpt-4o', input: 'hello' }],
  ['/compat-a/v1/responses/compact', { model: 'oa/gpt-4o', input: 'hello' }],
  ['/compat-a/v1/completions', { model: 'oa/gpt-4o', prompt: 'hello' }],
  ['/compat-a/v1/embeddings', { model: 'oa/gpt-4o', input: 'hello' }],
  ['/compat-a/v1/images/generations', { model: 'oa/gpt-4o', prompt: 'a dot' }],
  ['/compat-a/v1/audio/speech', { model: 'oa/gpt-4o', input: 'hello', voice: 'alloy' }],
  ['/compat-b/v1/messages', { model: 'an/claude-haiku-4-5', max_tokens: 9, messages: userMessages('hello') }],
  ['/compat-b/v1/messages/count_tokens', { model: 'an/claude-haiku-4-5', messages: userMessages('hello') }],
  ['/compat-c/v1/chat/completions', chat],
  ['/compat-c/v1/embeddings', { model: 'oa/gpt-4o', input: 'hello' }],
  ['/compat-c/v1/messages', { model: 'an/claude-haiku-4-5', max_tokens: 9, messages: userMessages('hello') }],
]

test('no surface forwards a known field in different case, or a field set twice', async () => {
  const before = posts()
  for (const [path, body] of surfaces) {
    const text = JSON.stringify(body)
    for (const [field, member] of [
      ['Model', '"Model":"dear"'],
      ['\u017fervice_tier', '"\u017fervice_tier":"priority"'],
      ['x.File_Id', '"x":{"File_Id":"file-1"}'],
      ['x.a', '"x":{"a":1,"a":2}'],
    ] as const) {
      const answer = await fetch(world.server.origin + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${world.key.key}`, 'content-type': 'application/json' },
        body: `{${member},${text.slice(1)}`,
      })
      const answerText = await answer.text()
      assert.equal(answer.status, 400, `${path} ${field}: ${answerText}`)
      assert.match(answerText, new RegExp(`\`${field.replace('.', '\\.')}\``))
    }
  }
  assert.equal(posts(), before)
})

test('no form field in different case is forwarded', async () => {
  const before = posts()
  const key = world.key.key
  for (const [name, kind] of [
    ['Model', 'field'],
    ['N', 'field'],
    ['N[]', 'field'],
    ['Model', 'file'],
  ]) {
    const form = new FormData()
    form.set('model', 'oa/gpt-4o')
    form.set('prompt', 'a dot')
    form.set('image', new Blob(['x']), 'a.png')
    if (kind === 'file') form.set(name!, new Blob(['dear']), 'b.txt')
    else form.set(name!, '9')
    const answer = await fetch(`${world.server.origin}/compat-a/v1/images/edits`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    })
    assert.equal(answer.status, 400)
    assert.match(await answer.text(), /differs from/)
  }
  assert.equal(posts(), before)
})

test('on credits or under a cap, limits below 1 and limits of other APIs are refused', async () => {
  const before = posts()
  const cappedKey = await world.person.key({ spend_cap_usd: 1, spend_cap_period: 'total' })
  const refusedBodies: [body: object, param: string][] = [
    [{ ...chat, max_tokens: 0 }, 'max_tokens'],
    [{ ...chat, max_tokens: -1 }, 'max_tokens'],
    [{ ...chat, max_completion_tokens: 0.5 }, 'max_completion_tokens'],
    [{ ...chat, max_output_tokens: 99 }, 'max_output_tokens'],
    [{ ...chat, num_predict: -1 }, 'num_predict'],
    [{ ...chat, num_return_sequences: 9 }, 'num_return_sequences'],
    [{ ...chat, extra_body: { a: [{ n: 9 }] } }, 'extra_body.a.0.n'],
    [{ ...chat, extra_body: { service_tier: 'priority' } }, 'extra_body.service_tier'],
    ...settingsNames.map((name): [object, string] => [
      { ...chat, [name]: { max_new_tokens: 1e6 } },
      `${name}.max_new_tokens`,
    ]),
    [{ ...chat, options: { num_predict: 1e6 } }, 'options.num_predict'],
    [{ ...chat, generationConfig: { maxOutputTokens: 1e6 } }, 'generationConfig.maxOutputTokens'],
    [{ ...chat, inferenceConfig: { maxTokens: 1e6 } }, 'inferenceConfig.maxTokens'],
  ]
  for (const model of ['oa/gpt-4o', 'house/gpt-4o'])
    for (const [body, param] of refusedBodies) {
      const answer = await cappedKey.post('/compat-a/v1/chat/completions', { ...body, model })
      assert.deepEqual([answer.status, answer.body.error?.param], [400, param], answer.text)
    }
  assert.equal(posts(), before)
  await world.key.post('/compat-a/v1/chat/completions', { ...chat, max_output_tokens: 99 })
  assert.equal(posts(), before + 1, 'without a cap it is for the vendor to refuse')
})
