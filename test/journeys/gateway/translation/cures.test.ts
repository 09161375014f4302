import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { faultKinds } from '#gateway/model/canonical-request.ts'
import { caller } from '../../../server.ts'
import { startAnthropic } from '../../../vendors/anthropic/anthropic.ts'
import { startOpenAI } from '../../../vendors/openai/openai.ts'
import type { Vendor } from '../../../vendors/vendor.ts'
import { type World, gatewayWorld, pricedModel, userMessages } from '../world.ts'

let world: World
let gpt: Vendor
let claude: Vendor

before(async () => {
  gpt = await startOpenAI()
  claude = await startAnthropic()
  world = await gatewayWorld()
  await world.bring(gpt, 'oa', { models: [pricedModel('gpt-4o')] })
  await world.bring(claude, 'cl', {
    shape: 'anthropic-messages',
    base_url: claude.origin,
    models: [pricedModel('claude-haiku-4-5')],
  })
})

after(async () => {
  await world[Symbol.asyncDispose]()
  await gpt[Symbol.asyncDispose]()
  await claude[Symbol.asyncDispose]()
})

const paths = {
  a: '/compat-a/v1/chat/completions',
  b: '/compat-b/v1/messages',
  c: '/compat-c/v1/chat/completions',
  responses: '/compat-a/v1/responses',
} as const

type Surface = keyof typeof paths

/** Builds a request from its messages. */
const asking = (surface: Surface, messages: readonly object[], model = 'sim/echo') =>
  surface === 'responses' ? { model, input: messages } : { model, max_tokens: 9, messages }

/** Returns the message of a 400, after checking the field if the vendor's shape has a place for it. */
async function cureOf(surface: Surface, body: object | string, param?: string, headers = {}): Promise<string> {
  const answer = await world.key.post(paths[surface], body, headers)
  assert.equal(answer.status, 400, answer.text)
  if (param !== undefined && (surface === 'a' || surface === 'responses')) assert.equal(answer.body.error.param, param)
  return answer.body.error.message
}

test('headers that control a call are respected, or refused by name', async () => {
  const lossy = { model: 'sim/echo', messages: userMessages('hi'), n: 3 }
  for (const [word, status] of [
    ['1', 400],
    ['true', 400],
    ['True', 400],
    ['0', 200],
    ['false', 200],
  ] as const) {
    const answer = await world.key.post(paths.a, lossy, { 'x-uk-strict': word })
    assert.equal(answer.status, status, answer.text)
    assert.equal(answer.headers.get('x-uk-losses'), status === 200 ? 'n' : null)
  }
  for (const [name, value, right] of [
    ['x-uk-strict', 'yes', '1 or true, or 0 or false'],
    ['x-uk-strict', '', '1 or true, or 0 or false'],
    ['x-uk-seed', 'abc', 'a whole number from 0 to 4294967295'],
    ['x-uk-seed', '4294967296', 'a whole number from 0 to 4294967295'],
    ['x-uk-hedge', 'soon', 'a number of milliseconds'],
  ] as const)
    for (const [surface, model] of [
      ['a', 'sim/echo'],
      ['a', 'oa/gpt-4o'],
      ['b', 'sim/echo'],
      ['c', 'sim/echo'],
      ['responses', 'sim/echo'],
    ] as const) {
      const words = await cureOf(surface, asking(surface, userMessages('hi'), model), name, { [name]: value })
      assert.equal(words, `\`${name}\` must be ${right}.`)
    }
  const response = await world.key.post(
    paths.a,
    { model: 'sim/echo', messages: userMessages('hi') },
    { 'x-uk-seed': '7' },
  )
  assert.equal(response.headers.get('x-uk-route'), 'provider=sim; seed=7')
})

test('content of an unknown type is refused, with its place and the accepted types', async () => {
  const before = [gpt.requests.length, claude.requests.length]
  const part = [{ role: 'user', content: [{ type: 'nope', text: 'x' }] }]
  for (const [surface, isTranslated] of [
    ['a', 'cl/claude-haiku-4-5'],
    ['b', 'oa/gpt-4o'],
    ['c', 'cl/claude-haiku-4-5'],
    ['responses', 'cl/claude-haiku-4-5'],
  ] as const)
    for (const model of ['sim/echo', isTranslated]) {
      const at = `${surface === 'responses' ? 'input' : 'messages'}.0.content.0.type`
      const words = await cureOf(surface, asking(surface, part, model), at)
      const first =
        surface === 'responses' ? 'input_text, input_image' : surface === 'b' ? 'text, image' : 'text, image_url'
      assert.ok(words.startsWith(`\`${at}\` must be ${first},`), words)
    }
  const within = [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'nope' }] }] }]
  assert.match(await cureOf('b', asking('b', within)), /^`messages\.0\.content\.0\.content\.0\.type` must be text/)
  assert.deepEqual([gpt.requests.length, claude.requests.length], before, 'nobody was asked')
})

test('an empty user message is reported; an assistant message with only a tool call is fine', async () => {
  const silent = [{ role: 'user' }]
  for (const surface of ['a', 'b', 'c', 'responses'] as const) {
    const at = `${surface === 'responses' ? 'input' : 'messages'}.0.content`
    assert.equal(await cureOf(surface, asking(surface, silent), at), `\`${at}\` is required.`)
  }
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
  const conversation = [
    ...userMessages('hi'),
    { role: 'assistant', tool_calls: [call] },
    { role: 'assistant', content: null, tool_calls: [{ ...call, id: 'c2' }] },
    { role: 'tool', tool_call_id: 'c1', content: 'done' },
  ]
  for (const surface of ['a', 'c'] as const)
    assert.equal((await world.key.post(paths[surface], asking(surface, conversation))).status, 200)
})

test('types known to one vendor but not to another are still named as losses', async () => {
  const parts = [
    { type: 'text', text: 'hear' },
    { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
  ]
  const response = await world.key.post(paths.a, asking('a', [{ role: 'user', content: parts }]))
  // Without it, a different question would be answered.
  assert.deepEqual([response.status, response.body.error.param], [400, 'messages.input_audio'])
  const searchItems = [
    { role: 'assistant', content: [{ type: 'web_search_tool_result', tool_use_id: 's', content: [] }] },
    ...userMessages('and now?'),
  ]
  const answer = await world.key.post(paths.b, asking('b', searchItems))
  assert.equal(answer.headers.get('x-uk-losses'), 'messages.web_search_tool_result')
  const newer = { type: 'from_a_newer_client' }
  for (const surface of ['a', 'b', 'c', 'responses'] as const) {
    const beside = [{ role: 'user', content: [newer, { type: 'text', text: 'go on' }] }]
    const { status, headers } = await world.key.post(paths[surface], asking(surface, beside))
    const loss = `${surface === 'responses' ? 'input' : 'messages'}.from_a_newer_client`
    assert.deepEqual([status, headers.get('x-uk-losses')], [200, loss])
  }
  const items = [newer, ...userMessages('go on')]
  const done = await world.key.post(paths.responses, asking('responses', items))
  assert.deepEqual([done.status, done.headers.get('x-uk-losses')], [200, 'input.from_a_newer_client'])
})

test('requests that pass unchanged are validated by their provider', async () => {
  for (const [surface, vendor, model] of [
    ['a', gpt, 'oa/gpt-4o'],
    ['b', claude, 'cl/claude-haiku-4-5'],
    ['c', gpt, 'oa/gpt-4o'],
  ] as const) {
    const from = vendor.requests.length
    const text = JSON.stringify(
      asking(surface, [{ role: 'user', content: [{ type: 'nope' }] }, { role: 'user' }], model),
    )
    await world.key.post(paths[surface], text)
    const [request] = vendor.requests.slice(from)
    assert.equal(request!.body.toString(), text.replace(/"(oa|cl)\//, '"'))
  }
})

test('a value of the wrong type is answered with all accepted types', async () => {
  const either = (at: string) => `\`${at}\` must be a string or an array.`
  const odd = [{ role: 'user', content: 5 }]
  assert.equal(await cureOf('a', asking('a', odd), 'messages.0.content'), either('messages.0.content'))
  assert.equal(await cureOf('b', asking('b', odd)), either('messages.0.content'))
  assert.equal(await cureOf('b', { ...asking('b', userMessages('hi')), system: 5 }), either('system'))
  assert.equal(await cureOf('responses', asking('responses', odd), 'input.0.content'), either('input.0.content'))
  assert.equal(await cureOf('responses', { model: 'sim/echo', input: 5 }, 'input'), either('input'))
  assert.equal(
    await cureOf('a', { ...asking('a', userMessages('hi')), stop: 4 }, 'stop'),
    '`stop` must be a string or an array of strings.',
  )
  for (const surface of ['a', 'b', 'c', 'responses'] as const)
    assert.equal(
      await cureOf(surface, { ...asking(surface, userMessages('hi')), model: 5 }, 'model'),
      '`model` must be a string.',
    )
  assert.match(await cureOf('a', { messages: userMessages('hi'), model: null }, 'model'), /^You must provide/)
  for (const more of [{}, { instructions: 'Be kind.' }])
    assert.match(
      await cureOf('responses', { model: 'sim/echo', input: [{ type: 'zzz' }], ...more }, 'input.0.type'),
      /^`input\.0\.type` must be message, /,
    )
})

test('invalid JSON is reported with the place of the error, an empty body as empty', async () => {
  for (const surface of ['a', 'b', 'c', 'responses'] as const) {
    assert.match(await cureOf(surface, '{"model": "sim/ec'), /isn’t valid JSON: .*\(line 1 column 18\)/)
    for (const nothing of ['', ' \n'])
      assert.equal(await cureOf(surface, nothing), 'The body is empty. Send a JSON object.')
  }
})

test('a key in the wrong format is answered with how to send it, and isn’t shown', async () => {
  const { key } = world.key
  const { origin } = world.server
  for (const authorization of [key, `Basic ${Buffer.from(`x:${key}`).toString('base64')}`, 'Bearer'])
    for (const path of [...Object.values(paths), '/v1/inference/text']) {
      const answer = await caller(origin, { authorization }).post(path, asking('a', userMessages('hi')))
      assert.equal(answer.status, 401)
      assert.match(answer.body.error.message, /Send the key as `Authorization: Bearer uk_…`/)
      assert.ok(!answer.text.includes(key))
      if (path === paths.a || path.startsWith('/v1/')) assert.equal(answer.body.error.code, 'invalid_api_key')
    }
  const wrong = await caller(origin, { authorization: 'Bearer uk_nonsense' }).post(paths.a, {})
  assert.equal(wrong.body.error.message, 'The API key isn’t valid.')
})

test('a web page may set routing headers, and read the cost', async () => {
  const headers = { origin: 'https://page.example', 'access-control-request-method': 'POST' }
  for (const path of Object.values(paths)) {
    const preflight = await world.server.stranger.request('OPTIONS', path, undefined, headers)
    const allowedHeaders = preflight.headers.get('access-control-allow-headers')!.split(', ')
    for (const name of ['x-uk-strict', 'x-uk-seed', 'x-uk-hedge']) assert.ok(allowedHeaders.includes(name), name)
    const answer = await world.server.stranger.post(path, {}, { origin: headers.origin })
    const exposedHeaders = answer.headers.get('access-control-expose-headers')!.split(', ')
    for (const name of ['x-uk-route', 'x-uk-losses', 'x-uk-hedge']) assert.ok(exposedHeaders.includes(name), name)
  }
})

test('a simulated fault has the status that the guide names', async () => {
  const guide = await readFile(new URL('../../../../docs/guides/simulated-models.md', import.meta.url), 'utf8')
  const rows = [...guide.matchAll(/^\| (`[^|]+`) \| (\d+) \| (\d+) \| (\d+) \|$/gm)]
  const documented = rows.flatMap(([, types, ...statuses]) =>
    [...types!.matchAll(/`(\w+)`/g)].map(([, type]) => [{ type }, statuses.map(Number)] as const),
  )
  assert.deepEqual(documented.map(([{ type }]) => type).toSorted(), faultKinds.toSorted(), 'it names every type')
  const others = [
    [{ type: 'upstream', status: 429 }, [429, 429, 429]],
    [{ type: 'overloaded_error' }, [503, 529, 503]],
    [{ type: 'upstream' }, [502, 502, 502]],
    [{ type: 'too_large', status: 429 }, [413, 413, 413]],
    [{ type: 'bad_request', status: 403 }, [403, 403, 403]],
  ] as const
  const play = async (error: object, surface: Surface) => {
    const script = JSON.stringify({ steps: [{ error: { message: 'on purpose', ...error } }] })
    const answer = await world.key.post(paths[surface], asking(surface, userMessages(script), 'sim/script'))
    return answer.status
  }
  await Promise.all(
    [...documented, ...others].map(async ([error, statuses]) =>
      assert.deepEqual(
        await Promise.all((['a', 'b', 'c'] as const).map((surface) => play(error, surface))),
        statuses,
        JSON.stringify(error),
      ),
    ),
  )
})
