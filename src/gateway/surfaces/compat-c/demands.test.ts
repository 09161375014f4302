import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '#core/errors.ts'
import { readBody } from '../../model/body.ts'
import { offerOf } from '../../model/offer-of.test.ts'
import { readDemands } from './demands.ts'

const demandsOf = (json: object) => readDemands(readBody(Buffer.from(JSON.stringify(json))))
const plain = offerOf()
const relay = offerOf({ endpoint: { slug: 'or', preset: 'openrouter', billing: 'byok' } })
const aggregator = offerOf({ endpoint: { slug: 'or', preset: 'openrouter', billing: 'credits' } })
const bodyFor = (json: object, offer = plain, unservedModels: string[] = []) =>
  JSON.parse(demandsOf(json)!.bodyFor(offer, unservedModels).bytes.toString())

test('a plain request has no demands, and its bytes stay unchanged', () => {
  assert.equal(demandsOf({ model: 'a/b', messages: [], temperature: 1 }), null)
  assert.equal(demandsOf({ model: 'llama3:8b', messages: [] }), null, 'a tag is part of the name')
  assert.deepEqual(demandsOf({ model: 'a/b:floor', messages: [] })!.models, ['a/b:floor'])
})

test('the models of a request are its model and then the others, each once', () => {
  assert.deepEqual(demandsOf({ model: 'a', models: ['b', 'a', 'c'] })!.models, ['a', 'b', 'c'])
  assert.deepEqual(demandsOf({ models: ['b'] })!.models, ['b'])
  assert.throws(
    () => demandsOf({ models: [] }),
    (error) => error instanceof Refusal && error.code === 'missing_parameter',
  )
  assert.throws(() => demandsOf({ models: 'b' }), Refusal)
  assert.throws(() => demandsOf({ models: Array.from({ length: 40 }, (_, i) => `m${i}`) }), Refusal)
})

test('an aggregator receives everything except names that only matter here', () => {
  const json = {
    model: 'or/x',
    models: ['oa/y', 'z'],
    provider: { order: ['or', 'groq'], only: ['or'], zdr: true },
    n: 1,
  }
  assert.deepEqual(bodyFor(json, relay, ['z']), {
    model: 'or/x',
    models: ['z'],
    provider: { order: ['groq'], zdr: true },
    n: 1,
  })
  assert.equal(
    bodyFor(json, aggregator, ['z']).models,
    undefined,
    'what nobody serves here is not for the instance to pay',
  )
  const untouchedBody = { model: 'or/x', plugins: [{ id: 'web' }], provider: { sort: 'price' }, transforms: [] }
  const body = readBody(Buffer.from(JSON.stringify(untouchedBody)))
  assert.equal(readDemands(body)!.bodyFor(relay, []), body, 'not a byte differs')
})

test('other providers receive a plain chat completion, and losses are named', () => {
  const json = {
    model: 'x',
    provider: { order: ['a'], speed: 'warp' },
    plugins: [{ id: 'moderation' }],
    reasoning: { max_tokens: 100 },
    messages: [1],
  }
  assert.deepEqual(bodyFor(json), { reasoning_effort: 'medium', model: 'x', messages: [1] })
  const losses = (offer = plain) => demandsOf(json)!.lossesTo(offer)
  assert.deepEqual(losses(), ['plugins', 'reasoning.max_tokens', 'provider.speed'])
  assert.deepEqual(losses(relay), [])
  const dull = offerOf({ capabilities: ['tools'] })
  assert.deepEqual(bodyFor(json, dull), { model: 'x', messages: [1] })
  assert.ok(losses(dull).includes('reasoning'))
})

test('features that only OpenRouter supports go there or nowhere', () => {
  const relayReason = (json: object) => demandsOf({ model: 'x', ...json })!.constraints.relayed
  assert.equal(relayReason({ plugins: [{ id: 'web' }] }), 'plugins.web')
  assert.equal(relayReason({ plugins: [{ id: 'web', enabled: false }] }), undefined)
  assert.equal(relayReason({ tools: [{ type: 'openrouter:web_search' }] }), 'openrouter:web_search')
})

test('preferences of the wrong type are refused by name', () => {
  const refusalFor = (provider: unknown) => {
    try {
      demandsOf({ model: 'x', provider })
    } catch (error) {
      return (error as Refusal).param
    }
    return null
  }
  const wrong: [unknown, string | null][] = [
    ['fast', 'provider'],
    [{ order: 'a' }, 'provider.order'],
    [{ order: [1] }, 'provider.order.0'],
    [{ sort: 'speed' }, 'provider.sort'],
    [{ sort: { by: 'x' } }, 'provider.sort.by'],
    [{ sort: { by: 'price', partition: 'all' } }, 'provider.sort.partition'],
    [{ data_collection: 'maybe' }, 'provider.data_collection'],
    [{ quantizations: ['fp9'] }, 'provider.quantizations.0'],
    [{ max_price: { prompt: -1 } }, 'provider.max_price.prompt'],
    [{ max_price: { prompt: '0.5' } }, null],
    [{ preferred_max_latency: 'soon' }, 'provider.preferred_max_latency'],
    [{ preferred_max_latency: { p50: 1 } }, null],
    [{ order: null, allow_fallbacks: null }, null],
  ]
  for (const [provider, param] of wrong) assert.equal(refusalFor(provider), param, JSON.stringify(provider))
})
